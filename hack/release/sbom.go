package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// document is an SPDX 2.3 document in JSON.
type document struct {
	Version      string         `json:"spdxVersion"`
	DataLicense  string         `json:"dataLicense"`
	ID           string         `json:"SPDXID"`
	Name         string         `json:"name"`
	Namespace    string         `json:"documentNamespace"`
	Creation     creation       `json:"creationInfo"`
	Packages     []spdxPackage  `json:"packages"`
	Relationship []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID               string     `json:"SPDXID"`
	Name             string     `json:"name"`
	Version          string     `json:"versionInfo"`
	DownloadLocation string     `json:"downloadLocation"`
	FilesAnalyzed    bool       `json:"filesAnalyzed"`
	Concluded        string     `json:"licenseConcluded"`
	Declared         string     `json:"licenseDeclared"`
	Copyright        string     `json:"copyrightText"`
	References       []external `json:"externalRefs"`
}

type external struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

// sbom writes the modules that are linked into a binary, as the Go command recorded them there.
func (r *release) sbom(b *binary) error {
	info, err := buildinfo.ReadFile(b.path)
	if err != nil {
		return err
	}
	name := r.name(b)
	d := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://" + info.Main.Path + "/spdx/" + name + "/" + r.commit,
		Creation: creation{Created: r.date.Format("2006-01-02T15:04:05Z"),
			Creators: []string{"Tool: triplane-release"}},
		Packages: []spdxPackage{module(0, info.Main.Path, r.version),
			module(1, "stdlib", strings.TrimPrefix(info.GoVersion, "go"))},
		Relationship: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", packageID(0)},
			{packageID(0), "DEPENDS_ON", packageID(1)}},
	}
	d.Packages[0].Declared = "Apache-2.0"
	for _, m := range info.Deps {
		if m.Replace != nil {
			continue // a stand-in of the source
		}
		n := len(d.Packages)
		d.Packages = append(d.Packages, module(n, m.Path, m.Version))
		d.Relationship = append(d.Relationship, relationship{packageID(0), "DEPENDS_ON", packageID(n)})
	}
	content, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.file(name+".spdx.json"), append(content, '\n'), 0o644)
}

func packageID(n int) string { return fmt.Sprintf("SPDXRef-Package-%d", n) }

func module(n int, path, version string) spdxPackage {
	return spdxPackage{ID: packageID(n), Name: path, Version: version, DownloadLocation: noAssertion, Concluded: noAssertion,
		Declared: noAssertion, Copyright: noAssertion,
		References: []external{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}}}
}
