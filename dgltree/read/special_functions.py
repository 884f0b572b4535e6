"""Functions that are read in tables of trees, as SymPy and Mathematica spell them; neither judged nor searched."""

from collections.abc import Collection, Mapping


def _spelled(arities: Collection[int], *names: str) -> dict[str, tuple[str, Collection[int]]]:
    """By each of some names the first of them, and the numbers of arguments."""
    return dict.fromkeys(names, (names[0], arities))


SPECIAL_FUNCTIONS: Mapping[str, tuple[str, Collection[int]]] = {
    **_spelled((1,), "erf", "Erf"),
    **_spelled((1,), "erfc", "Erfc"),
    **_spelled((1,), "erfi", "Erfi"),
    **_spelled((1, 2), "gamma", "Gamma"),
    **_spelled((2,), "lowergamma"),
    **_spelled((2,), "uppergamma"),
    **_spelled((1,), "loggamma", "LogGamma"),
    **_spelled((1,), "digamma"),
    **_spelled((1, 2), "polygamma", "PolyGamma"),
    **_spelled((2, 3), "beta", "Beta"),
    **_spelled((1, 2), "zeta", "Zeta"),
    **_spelled((1, 2), "Li"),
    **_spelled((1,), "li", "LogIntegral"),
    **_spelled((1,), "Ei", "ExpIntegralEi"),
    **_spelled((2,), "expint", "ExpIntegralE"),
    **_spelled((1,), "E1"),
    **_spelled((1,), "Si", "SinIntegral"),
    **_spelled((1,), "Ci", "CosIntegral"),
    **_spelled((1,), "Shi", "SinhIntegral"),
    **_spelled((1,), "Chi", "CoshIntegral"),
    **_spelled((1,), "fresnels", "FresnelS"),
    **_spelled((1,), "fresnelc", "FresnelC"),
    **_spelled((2, 3), "polylog", "PolyLog"),
    **_spelled((1,), "dilog"),
    **_spelled((1, 2), "LambertW", "ProductLog"),
    **_spelled((2,), "besselj", "BesselJ"),
    **_spelled((2,), "bessely", "BesselY"),
    **_spelled((2,), "besseli", "BesselI"),
    **_spelled((2,), "besselk", "BesselK"),
    **_spelled((1,), "airyai", "AiryAi"),
    **_spelled((1,), "airybi", "AiryBi"),
    **_spelled((1,), "elliptic_k", "EllipticK"),
    **_spelled((1, 2), "elliptic_e", "EllipticE"),
    **_spelled((2,), "elliptic_f", "EllipticF"),
    **_spelled((2, 3), "elliptic_pi", "EllipticPi"),
    **_spelled((1,), "Heaviside", "HeavisideTheta"),
    **_spelled((1,), "sign", "Sign"),
}
"""By each spelling the name in a tree, and the numbers of arguments."""
