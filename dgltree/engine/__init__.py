"""A cell along a batch: schedule, level engine, message-passing runner, trace, memory check."""

from dgltree.engine.frontiers import TopoPlan, topo_plan
from dgltree.engine.planned import PlannedBatch, plan
from dgltree.engine.propagate import root_states
from dgltree.engine.runner import Graph, prop_nodes_topo

__all__ = [
    "Graph",
    "PlannedBatch",
    "TopoPlan",
    "plan",
    "prop_nodes_topo",
    "root_states",
    "topo_plan",
]
