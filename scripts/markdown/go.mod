// The reader of Markdown is for the site alone: nothing in the product imports it.
module fabemu/scripts/markdown

go 1.26.0

require github.com/yuin/goldmark v1.8.7
