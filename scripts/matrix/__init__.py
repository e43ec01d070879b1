"""The matrix of cases, operation by type by shape.

types, npy: values and files; case: instructions and inputs of one case, modules of several; compare: how far results may differ; table: all
cases, made by the other modules, a family each; record: what XLA:CPU gave for them, differences: where xlac means to differ from that; coverage: which opcodes have
cases of which types, and why others have none."""
