// Answers questions about DRA, a JSON object a line in, an object a line out: a question with an expression is one
// selector and one device, any other the claims of a pod and the nodes they are tried on.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	decoder := json.NewDecoder(in)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for decoder.More() {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			giveUp(err)
		}
		answer, err := answerOf(raw)
		if err != nil {
			giveUp(err)
		}
		if err := encoder.Encode(answer); err != nil {
			giveUp(err)
		}
	}
}

func answerOf(raw json.RawMessage) (any, error) {
	var which struct {
		Expression *string `json:"expression"`
	}
	if err := json.Unmarshal(raw, &which); err != nil {
		return nil, err
	}
	if which.Expression != nil {
		return expressionAnswer(raw)
	}
	return scenarioAnswer(raw)
}

func giveUp(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
