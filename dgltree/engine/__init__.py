"""A cell along a batch: schedule, level engine, message-passing runner, trace, memory check."""
