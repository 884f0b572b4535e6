// Rewrites questions to the search of the site; scripts/site/hooks.py puts it in front of Material's worker.
//
// Words that say nothing of the subject and single letters are left out, endings are cut (the search finds all words
// that begin with what is left), and words are added by which the pages call the same.
"use strict";
(() => {
  const STOP = new Set(
    ("a about all am an and any are as at be been but by can cannot could did do does for from get give had has have " +
      "how i if in into is it its itself know like make me mean my need no not of on one or other our own please " +
      "possible s should so some t that the their them then there these they this those to us use used uses using " +
      "want was we were what when where whether which while who will with without work works would you your").split(" ")
  );
  const SYNONYMS = new Map(Object.entries({
    accurate: "exact", attention: "explore pictures", checkpoint: "load", cluster: "ray", code: "python", cuda: "gpu",
    dataset: "data", deploy: "serve", download: "install", draw: "pictures", embedding: "encode vectors", export: "serve",
    fast: "speed", faster: "speed", fit: "train", gpus: "gpu processes", gradients: "exact", inference: "predict",
    install: "hour", interrupted: "killed", load: "models", machines: "processes", memory: "larger", new: "add",
    number: "values", numbers: "values", pandas: "estimator", papers: "results", parallel: "processes", plot: "pictures",
    pretrained: "published shipped", production: "serve", regression: "values", reproduce: "results", save: "models",
    share: "publish", shapes: "batch", sklearn: "scikit-learn", slow: "speed", solve: "complete", start: "hour",
    student: "mark", syntax: "notation", vector: "encode", visualize: "explore pictures", weights: "shipped",
    why: "explain", write: "add",
  }));

  const stem = (word) => {
    const cut = word.replace(/(?:ies|ing|ed|es|s|e|y)$/, "");
    return cut.length > 3 ? cut : word;
  };

  const rewritten = (query) => {
    if (/["*:^~+]/.test(query)) return query; // written in the search's own language
    const words = query.toLowerCase().replace(/['’]s\b/g, "").split(/[^\p{L}\p{N}_.-]+/u).filter(Boolean);
    const telling = words.filter((word) => word.length > 1 && !STOP.has(word));
    if (!telling.length) return query;
    return telling.map((w) => `${stem(w)} ${SYNONYMS.get(w) ?? ""}`).join(" ");
  };

  addEventListener("message", (event) => {
    if (event.data.type !== 2 || event.data.asked) return;
    event.stopImmediatePropagation();
    const data = { type: 2, data: rewritten(event.data.data), asked: true };
    dispatchEvent(new MessageEvent("message", { data }));
  });
})();
