"""All that only serves the paper's evidence: rivals, tasks, cells of results, suites, tables, figures."""
