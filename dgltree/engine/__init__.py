"""Passes over a batch: schedule, plans, a cell by levels, anyone's message functions, compiled kernels."""

from dgltree.engine.frontiers import TopoPlan, topo_plan, topological_nodes_generator
from dgltree.engine.graph import Graph
from dgltree.engine.kernels.dispatch import NoKernelError
from dgltree.engine.planned import PlannedBatch, plan
from dgltree.engine.propagate import root_states
from dgltree.engine.runner import prop_nodes, prop_nodes_topo, why_not

__all__ = [
    "Graph",
    "NoKernelError",
    "PlannedBatch",
    "TopoPlan",
    "plan",
    "prop_nodes",
    "prop_nodes_topo",
    "root_states",
    "topo_plan",
    "topological_nodes_generator",
    "why_not",
]
