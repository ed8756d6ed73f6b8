"""Our tools in others' agents: under the same policy, questions and record as everywhere."""
