# /// script
# requires-python = ">=3.11"
# dependencies = ["openapi-generator-cli==7.26.0", "pyspark==4.3.0"]
# ///
"""Clients of openapi-generator in Java and Go read an order, a heatmap and an error; times have 64 bits, in Rust too.

Needs a JDK, and Go with `golang-gopkg-validator.v2-dev` of Debian. The libraries of the Java client, which are
Jackson and the annotations of Jakarta, are taken from the Spark package.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from common import line

import liqdata

JAVA = """
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ContractApi;
import org.openapitools.client.model.OrdersRow;
import org.openapitools.client.model.Refusal;

public class Main {
    public static void main(String[] given) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(given[0]);
        ContractApi api = new ContractApi(client);
        OrdersRow found = api.orders("PEPE", null, 1, null, null, null, null, null, null, null, null).getData().get(0);
        var shown = api.heatmap("BTC", "12h", null, null, null, null, null, null, null, null, null, null, null, null);
        Refusal refused = null;
        try {
            api.orders(null, null, 0, null, null, null, null, null, null, null, null);
        } catch (ApiException error) {
            refused = client.getObjectMapper().readValue(error.getResponseBody(), Refusal.class);
        }
        Long at = found.getTimestamp();
        java.util.List<Long> times = shown.getTimes();
        Object[] all = {found.getPrice(), at, times, refused.getError().getParameter()};
        System.out.println(client.getObjectMapper().writeValueAsString(all));
    }
}
"""
GO = """
package main

import (
	"context"
	"encoding/json"
	"liqdata"
	"os"
)

func main() {
	settings := liqdata.NewConfiguration()
	settings.Servers = liqdata.ServerConfigurations{{URL: os.Args[1]}}
	client := liqdata.NewAPIClient(settings)
	ctx := context.Background()
	found, _, err := client.ContractAPI.Orders(ctx).Symbol("PEPE").Limit(1).Execute()
	if err != nil {
		panic(err)
	}
	shown, _, err := client.ContractAPI.Heatmap(ctx).Symbol("BTC").Range_("12h").Execute()
	if err != nil {
		panic(err)
	}
	_, _, err = client.ContractAPI.Orders(ctx).Limit(0).Execute()
	refused := err.(*liqdata.GenericOpenAPIError).Model().(liqdata.Refusal)
	var at int64 = found.Data[0].Timestamp
	var times []int64 = shown.Times
	json.NewEncoder(os.Stdout).Encode([]interface{}{found.Data[0].Price, at, times, refused.Error.GetParameter()})
}
"""
ASKED = {
    "java": "library=native,openApiNullable=false,useJakartaEe=true",
    "go": "packageName=liqdata,withGoMod=false,enumClassPrefix=true",
    "rust": "packageName=made,supportAsync=false",
}
# What users of the generator have to ask for.
NEEDED = {
    "java": "`--additional-properties=openApiNullable=false`",
    "go": "`--additional-properties=enumClassPrefix=true`",
    "rust": "—",
}


def run(command, folder, **more):
    """Return what a command prints."""
    settings = {**os.environ, **more}
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (command[:3], done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def java(folder, url):
    """Compile the Java client and ask with it."""
    (place,) = find_spec("pyspark").submodule_search_locations
    libraries = [
        str(path) for path in Path(place, "jars").glob("j*.jar") if path.name.startswith(("jackson-", "jakarta."))
    ]
    (folder / "Main.java").write_text(JAVA)
    path = os.pathsep.join(["built", *libraries])
    sources = [str(source) for source in (folder / "java" / "src" / "main").rglob("*.java")]
    run(["javac", "-nowarn", "-cp", path, "-d", "built", "Main.java", *sources], folder)
    return run(["java", "-cp", path, "Main", url], folder)


def go(folder, url):
    """Compile the Go client and ask with it."""
    (folder / "src" / "main").mkdir(parents=True)
    (folder / "src" / "main" / "main.go").write_text(GO)
    (folder / "go").rename(folder / "src" / "liqdata")
    path = os.pathsep.join([str(folder), "/usr/share/gocode"])
    run(["go", "build", "-o", "asked", "main"], folder, GO111MODULE="off", GOPATH=path)
    return run([folder / "asked", url], folder)


def rust(folder):
    """Read the types of the Rust client, which is not compiled."""
    models = folder / "rust" / "src" / "models"
    assert "pub timestamp: i64," in (models / "orders_row.rs").read_text()
    assert "pub times: Vec<i64>," in (models / "heatmap_grid.rs").read_text()
    assert "pub matrix: Vec<Vec<f64>>," in (models / "heatmap_grid.rs").read_text()
    assert "pub parameter: Option<String>," in (models / "fault.rs").read_text()


def main():
    """Generate, compile and ask in each language."""
    market = liqdata.demo(seed=7)
    (order,) = market.orders("PEPE", limit=1)
    times = market.heatmap("BTC", "12h").to_dict()["times"]
    generator = Path(sys.executable).with_name("openapi-generator-cli")
    with tempfile.TemporaryDirectory() as name, liqdata.serve(market) as server:
        folder = Path(name)
        with urllib.request.urlopen(f"{server.url}/openapi.json", timeout=60) as reply:
            (folder / "openapi.json").write_bytes(reply.read())
        for language, properties in ASKED.items():
            made = ["-i", "openapi.json", "-g", language, "-o", language, f"--additional-properties={properties}"]
            run([generator, "generate", *made, "--global-property=apiTests=false,modelTests=false"], folder)
        for asked in (java, go):
            found = json.loads(asked(folder, server.url))
            assert found == [f"{order['price']:f}", order["timestamp"], times, "limit"], found
        rust(folder)
    works = "replies and errors have types; times have 64 bits, amounts are doubles"
    for language, needed in NEEDED.items():
        seen = f"{works}; the types were read, not compiled" if language == "rust" else works
        line(f"openapi-generator ({language})", f"{version('openapi-generator-cli')} | {seen}", needed)


if __name__ == "__main__":
    main()
