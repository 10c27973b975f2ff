//! The reader of pgdyno: a recorded run becomes text, Markdown, CSV, HTML and charts.
