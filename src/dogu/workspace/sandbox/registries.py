"""The hosts that package managers fetch from, by manager: one choice instead of a question for each."""

from __future__ import annotations

_REGISTRIES: dict[str, tuple[str, ...]] = {
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com", "npm.jsr.io", "nodejs.org"),
    "pip": ("pypi.org", "files.pythonhosted.org"),
    "cargo": ("index.crates.io", "static.crates.io", "crates.io", "static.rust-lang.org"),
    "go": ("proxy.golang.org", "sum.golang.org", "go.dev", "dl.google.com"),
    "Maven and Gradle": (
        "repo.maven.apache.org",
        "repo1.maven.org",
        "plugins.gradle.org",
        "services.gradle.org",
        "downloads.gradle.org",
        "dl.google.com",
        "maven.google.com",
    ),
    "RubyGems": ("rubygems.org", "index.rubygems.org"),
    "Composer": ("repo.packagist.org", "packagist.org"),
    "NuGet": ("api.nuget.org", "globalcdn.nuget.org"),
    "Hex": ("repo.hex.pm", "hex.pm", "builds.hex.pm"),
    "Debian and Ubuntu": (
        "deb.debian.org",
        "security.debian.org",
        "archive.ubuntu.com",
        "security.ubuntu.com",
        "ports.ubuntu.com",
    ),
    "conda": ("conda.anaconda.org", "repo.anaconda.com"),
    "Hackage": ("hackage.haskell.org",),
    "pub": ("pub.dev",),
    "CRAN": ("cran.r-project.org", "cloud.r-project.org"),
    "Julia": ("pkg.julialang.org",),
    "Deno": ("deno.land", "jsr.io"),
}
ALL_REGISTRIES = tuple(dict.fromkeys(host for hosts in _REGISTRIES.values() for host in hosts))


def registry_of(host: str) -> str:
    """Return the package manager that fetches from a host; "" for any other host."""
    return next((name for name, hosts in _REGISTRIES.items() if host in hosts), "")
