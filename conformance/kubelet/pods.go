package main

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

type container struct {
	Name     string            `json:"name"`
	Kind     string            `json:"kind"` // init, sidecar or app
	Limits   map[string]string `json:"limits"`
	Requests map[string]string `json:"requests"` // where it differs from the limits
	Claims   []string          `json:"claims"`   // names in the pod's claims
}

type step struct {
	Op         string            `json:"op"`
	UID        string            `json:"uid"`
	Name       string            `json:"name"`      // the UID where it is left out
	Namespace  string            `json:"namespace"` // default
	Containers []container       `json:"containers"`
	Claims     map[string]string `json:"claims"`    // the pod's name of a claim: the ResourceClaim
	Lost       bool              `json:"lost"`      // of del: no one was there to give claims back
	Resource   string            `json:"resource"`  // of health
	Unhealthy  []string          `json:"unhealthy"` // of health
}

func (s step) pod() (*v1.Pod, error) {
	pod := &v1.Pod{}
	pod.UID, pod.Name, pod.Namespace = types.UID(s.UID), cmp.Or(s.Name, s.UID), cmp.Or(s.Namespace, "default")
	for name, claim := range s.Claims {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: name, ResourceClaimName: &claim})
	}
	for _, one := range s.Containers {
		real := v1.Container{Name: one.Name}
		limits, err := amounts(one.Limits)
		if err != nil {
			return nil, err
		}
		requests, err := amounts(one.Requests)
		if err != nil {
			return nil, err
		}
		for name, amount := range limits { // as the API server defaults them
			if _, set := requests[name]; !set {
				requests[name] = amount
			}
		}
		real.Resources = v1.ResourceRequirements{Limits: limits, Requests: requests}
		for _, name := range one.Claims {
			real.Resources.Claims = append(real.Resources.Claims, v1.ResourceClaim{Name: name})
		}
		switch one.Kind {
		case "app":
			pod.Spec.Containers = append(pod.Spec.Containers, real)
			continue
		case "sidecar":
			always := v1.ContainerRestartPolicyAlways
			real.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, real)
	}
	return pod, nil
}

func amounts(texts map[string]string) (v1.ResourceList, error) {
	list := v1.ResourceList{}
	for name, text := range texts {
		amount, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, err
		}
		list[v1.ResourceName(name)] = amount
	}
	return list, nil
}
