package main

import (
	"context"
	"encoding/json"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

type expressionQuestion struct {
	Expression         string             `json:"expression"`
	Driver             string             `json:"driver"`
	Device             resourceapi.Device `json:"device"`
	ConsumableCapacity bool               `json:"consumableCapacity"`
	ListTypeAttributes bool               `json:"listTypeAttributes"`
}

// Exactly one is set.
type expressionResult struct {
	Matches      *bool   `json:"matches,omitempty"`
	CompileError *string `json:"compileError,omitempty"`
	RuntimeError *string `json:"runtimeError,omitempty"`
	Panic        string  `json:"panic,omitempty"` // of the evaluator itself
}

// expressionAnswer compiles and evaluates as the scheduler does: in the environment of stored expressions, without
// the estimate of cost.
func expressionAnswer(raw json.RawMessage) (answer any, err error) {
	defer func() {
		if said := recover(); said != nil {
			answer, err = expressionResult{Panic: fmt.Sprint(said)}, nil
		}
	}()
	var question expressionQuestion
	if err := json.Unmarshal(raw, &question); err != nil {
		return nil, err
	}
	compiled := cel.GetCompiler(cel.Features{
		EnableConsumableCapacity: question.ConsumableCapacity,
		EnableListTypeAttributes: question.ListTypeAttributes,
	}).CompileCELExpression(question.Expression, cel.Options{DisableCostEstimation: true})
	if compiled.Error != nil {
		return expressionResult{CompileError: &compiled.Error.Detail}, nil
	}
	matches, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   question.Driver,
		AllowMultipleAllocations: question.Device.AllowMultipleAllocations,
		Attributes:               question.Device.Attributes,
		Capacity:                 question.Device.Capacity,
	})
	if err != nil {
		text := err.Error()
		return expressionResult{RuntimeError: &text}, nil
	}
	return expressionResult{Matches: &matches}, nil
}
