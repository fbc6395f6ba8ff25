"""Mistakes in serving a market."""

MISTAKES = {
    "serving": [
        ("liqdata.serve(client)", "TypeError", None, "market: a Client cannot be served; allowed: a liqdata.Market"),
        ('liqdata.serve("archive")', "TypeError", None, "market: a str cannot be served; allowed: a liqdata.Market"),
        ("liqdata.serve(market, port=-1)", "BadQuery", "port", "allowed: a whole number from 0 to 65535"),
        ("liqdata.serve(market, port=70000)", "BadQuery", "port", "allowed: a whole number from 0 to 65535"),
        ('liqdata.serve(market, port="8080")', "BadQuery", "port", "allowed: a whole number from 0 to 65535"),
        (
            'liqdata.serve(market, host="0.0.0.0")',
            "BadQuery",
            "host",
            "0.0.0.0 can be reached from other machines, and without a token everybody who",
        ),
        ("liqdata.serve(market, host=5)", "BadQuery", "host", "allowed: an address or name to listen on"),
        (
            'liqdata.serve(market, token="")',
            "BadQuery",
            "token",
            "a text of 0 characters; allowed: at least 16 visible ASCII characters",
        ),
        ("liqdata.serve(market, token=5)", "BadQuery", "token", "allowed: a text, several, or the path of a file"),
        (
            'liqdata.serve(market, token=["a b"])',
            "BadQuery",
            "token",
            "a text of 3 characters; allowed: at least 16 visible ASCII characters",
        ),
        (
            'liqdata.serve(market, tls="cert.pem")',
            "BadQuery",
            "tls",
            "allowed: the paths of a certificate chain and of its private key, in PEM",
        ),
        (
            'liqdata.serve(market, tls=("cert.pem",))',
            "BadQuery",
            "tls",
            "allowed: the paths of a certificate chain and of its private key, in PEM",
        ),
        (
            'liqdata.serve(market, tls=("no-cert.pem", "no-key.pem"))',
            "BadQuery",
            "tls",
            "no-cert.pem: No such file or directory (os error 2)",
        ),
        (
            'liqdata.serve(market, limits={"conections": 5})',
            "BadQuery",
            "limits",
            "'conections' is not a limit; allowed: connections, per_peer, streams, streams_per_peer,",
        ),
        (
            'liqdata.serve(market, limits={"connections": 0})',
            "BadQuery",
            "limits",
            "allowed: a whole number from 1 to 2147483648",
        ),
        (
            'liqdata.serve(market, limits={"connections": "5"})',
            "BadQuery",
            "limits",
            "allowed: a whole number from 1 to 2147483648",
        ),
        ("liqdata.serve(market, limits=5)", "BadQuery", "limits", "allowed: a mapping or a liqdata.server.Limits"),
        (
            "liqdata.serve(market, hosts=[5])",
            "BadQuery",
            "hosts",
            "allowed: names of the server, such as data.example.org",
        ),
        (
            'liqdata.serve(market, hosts=["https://example.org"])',
            "BadQuery",
            "hosts",
            "'https://example.org' is not a host name",
        ),
        ("liqdata.serve(market, prt=8080)", "TypeError", None, "did you mean 'port'?"),
        ('liqdata.serve(market, origins=["example.org"])', "BadQuery", "origins", "'example.org' is not an origin"),
        ("liqdata.serve(market, origins=5)", "BadQuery", "origins", "allowed: origins, such as https://example.org"),
    ],
}
