// Command promql reads PromQL expressions, separated by NUL bytes, and prints the names of the
// metrics in them, a line each.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	log.SetFlags(0)
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	for text := range bytes.SplitSeq(input, []byte{0}) {
		expr, err := parser.ParseExpr(string(text))
		if err != nil {
			log.Fatalf("%s: %v", text, err)
		}
		for _, selectors := range parser.ExtractSelectors(expr) {
			for _, m := range selectors {
				if m.Name == labels.MetricName {
					fmt.Println(m.Value)
				}
			}
		}
	}
}
