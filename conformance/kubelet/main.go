// Asks the kubelet's own managers. One question a line, in the form of a recorded case without `expect`
// (kind merge, hints, allocate, admit or pods; the README names the fields); one answer a line:
// {"id", "expect"}, and for admit "varies": whether some run of `runs` ended otherwise than the first. What is
// answered to pods stands, to be read and asked by others, until the next question comes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

type answer struct {
	ID     string `json:"id"`
	Expect any    `json:"expect"`
	Varies bool   `json:"varies"`
}

type asker interface{ ask() (any, bool, error) }

func main() {
	klog.SetLogger(logr.Discard())
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer leave()
	for {
		text, ended := lines.ReadBytes('\n')
		if text = bytes.TrimSpace(text); len(text) > 0 {
			found, err := answered(text)
			if err != nil {
				leave()
				fmt.Fprintf(os.Stderr, "kubelet: %v in %s\n", err, text)
				os.Exit(2)
			}
			out.Write(append(found, '\n'))
			out.Flush()
		}
		if ended != nil {
			return
		}
	}
}

func answered(text []byte) ([]byte, error) {
	var head struct{ ID, Kind string }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	asked := map[string]asker{"merge": &merge{}, "hints": &hints{}, "allocate": &choice{}, "admit": &admission{}, "pods": &serving{}}[head.Kind]
	if asked == nil {
		return nil, fmt.Errorf("unknown kind %q", head.Kind)
	}
	if err := json.Unmarshal(text, asked); err != nil {
		return nil, err
	}
	leave()
	expect, varies, err := asked.ask()
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer{head.ID, expect, varies})
}
