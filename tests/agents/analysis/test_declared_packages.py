"""What a manifest names anew is asked about, and nothing else that changes in it."""

import pytest

from agents.analysis.declared_packages import list_new_packages

CARGO = """[package]
name = "tally"
version = "0.1.0"

[dependencies]
serde = "1"
"""
POM = """<?xml version="1.0"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <groupId>org.example</groupId>
  <artifactId>tally</artifactId>
  <description>Tally</description>
  <dependencies>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId></dependency>
  </dependencies>
  <!-- more -->
</project>
"""
EXCLUDING = """
    <dependency>
      <groupId>ex</groupId><artifactId>x</artifactId>
      <exclusions><exclusion><groupId>a</groupId><artifactId>b</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
"""
DELIVERY = """<distributionManagement>
  <repository><id>ours</id><url>https://x.example</url></repository>
</distributionManagement>"""
MIX = """defmodule Tally.MixProject do
  use Mix.Project

  @version "0.1.0"

  def project do
    [
      app: :tally,
      version: @version,
      deps: deps()
    ]
  end

  defp deps do
    [
      {:jason, "~> 1.4"}
    ]
  end
end
"""
GEMFILE = """source "https://example.org"

gem "rake"
"""
GEMSPEC = """Gem::Specification.new do |spec|
  spec.name = "tally"
  spec.summary = "Tally"
end
"""
HELD_POM = POM.replace("<artifactId>junit", "<artifactId>${lib}").replace(
    "<!-- more -->", "<properties><lib>junit</lib></properties>"
)
GRADLE = """plugins {
  id 'java'
}
description = 'A tally'
def lib = 'guava'
def release = '33.0'
repositories {
  mavenCentral()
}
dependencies {
  implementation "com.google.guava:$lib:${release}"
  testImplementation 'junit:junit:4.13'
}
test {
  useJUnit()
}
"""
KTS = """plugins {
  kotlin("jvm") version "1.9"
}
description = "A tally"
dependencies {
}
"""
CATALOG = """[versions]
guava = "33"
[libraries]
guava = { group = "com.google.guava", name = "guava", version.ref = "guava" }
[plugins]
"""
CSPROJ = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><Nullable>enable</Nullable><Description>A tally</Description></PropertyGroup>
  <ItemGroup><PackageReference Include="NUnit" Version="3.1"/></ItemGroup>
</Project>
"""
COMPOSER = """{"name": "ex/tally", "require": {"php": ">=8", "psr/log": "^3"}}"""


def replace(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("path", "before", "old", "new"),
    [
        ("Cargo.toml", CARGO, "[dep", 'description = "Another summary of it"\n\n[dep'),
        ("Cargo.toml", CARGO, "[dep", "autotests = false\n\n[lints.clippy]\npedantic = 1\n[dep"),
        ("Cargo.toml", CARGO, "[dep", '[features]\nfast = ["serde/derive"]\n\n[dep'),
        ("Cargo.toml", CARGO, 'serde = "1"', 'serde = { version = "2", features = ["derive"] }'),
        ("Cargo.toml", CARGO, '"1"', '{ path = "serde" }'),
        ("pom.xml", POM, "<!-- more -->", DELIVERY),
        ("app/pom.xml", POM, "Tally", "Another summary of it"),
        (
            "pom.xml",
            POM,
            "<!-- more -->",
            "<properties><some.thing>words</some.thing></properties>",
        ),
        ("pom.xml", POM, "<artifactId>tally", "<artifactId>tallies"),
        ("mix.exs", MIX, "app: :tally,", 'app: :tally,\n      description: "Another # of it",'),
        ("mix.exs", MIX, "app: :tally,", 'app: :tally, test_pattern: "*_case.exs",'),
        ("mix.exs", MIX, "app: :tally,", 'app: :tally,\n aliases: [test: ["lint", "test"]],'),
        ("mix.exs", MIX, "0.1.0", "0.1.0-beta"),
        ("mix.exs", MIX, "  defp deps", "  # What it needs besides\n  defp deps"),
        ("Gemfile", GEMFILE, "gem", 'ruby "3.3.0"\n\n# Needed by tasks\ngem'),
        ("tally.gemspec", GEMSPEC, '"Tally"', '"Another summary of it"'),
        (
            "tally.gemspec",
            GEMSPEC,
            "end",
            "  spec.metadata = {\n    'rubygems_mfa_required' => 'true',\n  }\nend",
        ),
        ("composer.json", COMPOSER, '"^3"', '"^3", "ext-json": "*"'),
        ("composer.json", COMPOSER, '"name"', '"description": "Another summary", "name"'),
        ("composer.json", COMPOSER, '"name"', '"extra": {"patches": {"psr/log": ["a"]}}, "name"'),
        ("Cargo.toml", CARGO + 's = { git = "https://x.example" }\n', "0.1.0", "0.1.1"),
        ("pom.xml", HELD_POM, "Tally", "Another summary of it"),
        ("pom.xml", HELD_POM, "<lib>", "<lib.version>1</lib.version><lib>"),
        ("pom.xml", HELD_POM, "${lib}<", "junit<"),
        ("build.gradle", GRADLE, "A tally", "Another summary of it"),
        ("build.gradle", GRADLE, "4.13", "4.14"),
        ("build.gradle", GRADLE, "4.13'", "4.13'\n  implementation libs.other"),
        ("build.gradle", GRADLE, "4.13'", "4.13'\n  implementation(projects.core)"),
        (
            "build.gradle",
            GRADLE,
            "test {",
            "plugins.withId('java') {\n  jar.enabled = true\n}\ntest {",
        ),
        ("pom.xml", POM, "<!-- more -->", "<at>2026-01-02T03:04:05Z</at>"),
        ("build.gradle", GRADLE, "'33.0'", "'33.1-jre'"),
        ("build.gradle", GRADLE, "4.13'", "4.13'\n  testImplementation project(':core')"),
        ("build.gradle", GRADLE, "4.13'", "4.13'\n  // as 'ex:other:1' did"),
        ("build.gradle", GRADLE, "mavenCentral()", "mavenCentral()\n\n"),
        ("build.gradle", GRADLE, "useJUnit()", "useJUnitPlatform()\n  maxHeapSize = '1g'"),
        ("build.gradle", GRADLE, "test {", "jar {\n  archiveBaseName = 'tallies'\n}\ntest {"),
        (
            "build.gradle",
            GRADLE,
            "test {",
            "java.sourceCompatibility = JavaVersion.VERSION_17\ntest {",
        ),
        ("build.gradle.kts", KTS, '"A tally"', '"Another summary of it"'),
        ("build.gradle.kts", KTS, "1.9", "2.0"),
        ("settings.gradle", "rootProject.name = 'tally'\n", "root", "include 'core', 'app'\nroot"),
        ("settings.gradle", "x = 'y'\n", "x", "include ':core:more',\n  'tests:all'\nx"),
        ("settings.gradle.kts", "x = 1\n", "x", 'include(\n  "core",\n  "tests:all",\n)\nx'),
        ("build.gradle", GRADLE, "id 'java'", "id 'java'\n  id 'java-test-fixtures'"),
        ("build.gradle", GRADLE, "test {", "apply plugin: 'groovy'\ntest {"),
        ("build.gradle.kts", KTS, '"1.9"', '"1.9"\n  alias(libs.plugins.more) apply false'),
        ("build.gradle.kts", KTS, '"A tally"', '"A ${libs.versions.tally.get()}:1"'),
        (
            "build.gradle.kts",
            KTS,
            "dependencies {",
            "val made = configurations.more\ndependencies {\n  made(sourceSets.a.get().output)",
        ),
        ("build.gradle.kts", KTS, "dependencies {", 'jvmArgs("-javaagent:$agent")\ndependencies {'),
        ("libs.versions.toml", CATALOG, '"33"', '"34"'),
        ("A.csproj", CSPROJ, "A tally", "Another summary of it"),
        ("A.csproj", CSPROJ, '"3.1"', '"3.2"'),
        ("A.csproj", CSPROJ, "<Nullable>", "<LangVersion>12</LangVersion><Nullable>"),
        (
            "A.csproj",
            CSPROJ,
            "</ItemGroup>",
            '<ProjectReference Include="../B.csproj"/></ItemGroup>',
        ),
    ],
)
def test_other_words_name_no_package(path, before, old, new):
    assert list_new_packages(path, [before], replace(before, old, new)) == []


def test_what_the_repository_makes_itself_is_no_new_package():
    core = (
        "<project><parent><groupId>g</groupId><artifactId>all</artifactId></parent>"
        "<artifactId>core</artifactId></project>"
    )
    root = "<project><groupId>g</groupId><artifactId>all</artifactId></project>"
    needed = "<dependency><groupId>g</groupId><artifactId>{}</artifactId></dependency>"
    after = replace(POM, "</dependencies>", f"{needed.format('core')}</dependencies>")
    assert list_new_packages("app/pom.xml", [POM, core, root], after) == []
    after = replace(POM, "</dependencies>", f"{needed.format('other')}</dependencies>")
    assert list_new_packages("app/pom.xml", [POM, core, root], after) == ["g:other"]


@pytest.mark.parametrize(
    ("path", "before", "old", "new", "packages"),
    [
        ("Cargo.toml", CARGO, "[dep", '[dev-dependencies]\nrand = "1"\n[dep', ["rand"]),
        ("Cargo.toml", CARGO, "[dep", '[target."cfg(unix)".dependencies]\nnix = "1"\n[dep',
         ["nix"]),
        ("Cargo.toml", CARGO, "[dep", '[workspace.dependencies]\nrand = "1"\n[dep', ["rand"]),
        ("Cargo.toml", CARGO, "[dep", "[build-dependencies.cc]\nversion = '1'\n[dep", ["cc"]),
        ("Cargo.toml", CARGO, '"1"', '{ package = "sirde", version = "1" }', ["sirde"]),
        ("Cargo.toml", CARGO, '"1"', '{ git = "https://x.example/s" }',
         ["serde from https://x.example/s"]),
        ("Cargo.toml", CARGO, '"1"', '{ version = "1", registry = "other" }', ["serde from other"]),
        ("Cargo.toml", CARGO, "[dep", '[patch.x]\nserde = { git = "https://x.example" }\n[dep',
         ["serde from https://x.example"]),
        ("pom.xml", POM, "<!-- more -->",
         "<build><plugins><plugin><artifactId>exec</artifactId></plugin></plugins></build>",
         ["org.apache.maven.plugins:exec"]),
        ("pom.xml", POM, "</dependencies>",
         EXCLUDING, ["ex:x"]),
        ("pom.xml", POM, "</artifactId></dep", "</artifactId><systemPath>a.jar</systemPath></dep",
         ["junit:junit from a.jar"]),
        ("pom.xml", POM, "<!-- more -->",
         "<repositories><repository><url>https://x.example</url></repository></repositories>",
         ["https://x.example"]),
        ("pom.xml", POM, "<!-- more -->", "<protoc>com.x:protoc:1:exe</protoc>", ["com.x:protoc"]),
        ("mix.exs", MIX, '1.4"}', '1.4"},\n      {:plug, "~> 1.0"}', ["plug"]),
        ("mix.exs", MIX, '"~> 1.4"}', '\n git: "https://x.example"}',
         ["https://x.example"]),
        ("mix.exs", MIX, "  defp deps", "  @more [:plug]\n  defp deps", ["plug"]),
        ("mix.exs", MIX, '{:jason, "~> 1.4"}', 'evil: "~> 1.0", jason: "1.4"', ["evil"]),
        ("Gemfile", GEMFILE, "gem", 'gem "puma"\ngem', ["puma"]),
        ("Gemfile", GEMFILE, 'rake"', 'rake",\n  git: "https://x.example"', ["https://x.example"]),
        ("Gemfile", GEMFILE, "gem", 'gem "pg"\ngem', ["pg"]),
        ("Gemfile", GEMFILE, "gem", 'gem "oj", require: false\ngem', ["oj"]),
        ("Gemfile", GEMFILE + "# use redis\n", "gem", 'gem "redis"\ngem', ["redis"]),
        ("tally.gemspec", GEMSPEC, "end", '  spec.add_dependency "puma"\nend',
         ["puma"]),
        ("composer.json", COMPOSER, '"^3"', '"^3", "ex/other": "1"', ["ex/other"]),
        ("composer.json", COMPOSER, '"name"',
         '"repositories": [{"type": "vcs", "url": "https://x.example"}], "name"',
         ['{"type": "vcs", "url": "https://x.example"}']),
        ("composer.json", COMPOSER, '"name"',
         '"extra": {"patches": {"psr/log": {"a": "https://x.example/p", "b": "p.diff"}}}, "name"',
         ["patch https://x.example/p"]),
        ("composer.json", COMPOSER, '"name"',
         '"extra": {"merge-plugin": {"include": ["more.json"]}}, "name"',
         ["packages of more.json"]),
        ("Cargo.toml", CARGO + 's = { git = "https://x.example", branch = "a" }\n', '"a"', '"b"',
         ["s from https://x.example branch b"]),
        ("Cargo.toml", CARGO + 's = { git = "https://x.example", rev = "a1" }\n', '"a1"', '"b2"',
         ["s from https://x.example rev b2"]),
        ("pom.xml", POM, "junit</artifactId>", "${rand}</artifactId>", ["junit:${rand}"]),
        ("pom.xml", HELD_POM, ">junit</lib>", ">evil</lib>", ["junit:evil"]),
        ("pom.xml", HELD_POM, "</dependencies>", EXCLUDING, ["ex:x"]),
        ("build.gradle", "", "", 'implementation "ex:other:1"', ["ex:other"]),
        ("build.gradle", GRADLE, "dependencies {", "dependencies {\n  implementation more.other",
         ["more.other"]),
        ("build.gradle", GRADLE, "dependencies {",
         "dependencies {\n  compileOnly group: 'ex', name: 'other', version: '1'", ["ex", "other"]),
        ("build.gradle", GRADLE, "dependencies {", "dependencies {\n  api files('libs/a.jar')",
         ["libs/a.jar"]),
        ("build.gradle", GRADLE, "4.13", "4.13'\n  testRuntimeOnly 'ex:other:1", ["ex:other"]),
        ("build.gradle", GRADLE, "id 'java'", "id 'java'\n  id 'ex.other' version '1'",
         ["ex.other"]),
        ("build.gradle", GRADLE, "mavenCentral()", "maven { url 'https://x.example' }",
         ["https://x.example"]),
        ("build.gradle", GRADLE, "mavenCentral()", "mavenLocal()", ["mavenLocal"]),
        ("build.gradle", GRADLE, "test {", "apply from: 'https://x.example/a'\ntest {",
         ["https://x.example/a"]),
        ("build.gradle", GRADLE, "test {", "def more = ['ex:other:1']\ntest {", ["ex:other"]),
        ("build.gradle", GRADLE, "= 'guava'", "= 'other'", ["other"]),
        ("build.gradle.kts", KTS, '"1.9"', '"1.9"\n  id("ex.other")', ["ex.other"]),
        ("build.gradle.kts", KTS, '"1.9"', '"1.9"\n  kotlin("serialization")', ["serialization"]),
        ("settings.gradle", "x = 1\n", "x", "includeBuild '../other'\nx", ["../other"]),
        ("build.gradle", GRADLE, "dependencies {", "dependencies {\n  api group: 'ex', name: 'x'",
         ["ex", "x"]),
        ("build.gradle.kts", KTS, "dependencies {",
         "val made = other.thing\ndependencies {\n  api(made)", ["made"]),
        ("build.gradle.kts", KTS, "dependencies {", 'dependencies {\n  implementation("a:b:1")',
         ["a:b"]),
        ("settings.gradle", "rootProject.name = 'tally'\n", "root",
         "plugins {\n  id 'ex.other'\n}\nroot", ["ex.other"]),
        ("libs.versions.toml", CATALOG, "[plugins]",
         'more = { module = "ex:other", version = "1" }\n[plugins]', ["ex:other"]),
        ("libs.versions.toml", CATALOG, "[plugins]", 'more = "ex:other:1"\n[plugins]',
         ["ex:other"]),
        ("libs.versions.toml", CATALOG, "[plugins]", '[plugins]\nmore = "ex.more:1"', ["ex.more"]),
        ("A.csproj", CSPROJ, "</ItemGroup>", '<PackageReference Include="Other"/></ItemGroup>',
         ["Other"]),
        ("A.fsproj", CSPROJ, "</ItemGroup>", '<Reference Include="Ex, Version=1"/></ItemGroup>',
         ["Ex"]),
        ("A.csproj", CSPROJ, "</ItemGroup>", "</ItemGroup><Sdk Name='Ex.Sdk'/>", ["Ex.Sdk"]),
        ("A.csproj", CSPROJ, "Microsoft.NET.Sdk", "Ex.Sdk/1", ["Ex.Sdk"]),
        ("A.csproj", CSPROJ, "<Nullable>",
         "<RestoreSources>https://x.example</RestoreSources><Nullable>", ["https://x.example"]),
        ("Directory.Packages.props", "", "",
         '<Project><ItemGroup><PackageVersion Include="Other"/></ItemGroup></Project>', ["Other"]),
    ],
)  # fmt: skip
def test_what_is_new_and_where_from_is_asked_about(path, before, old, new, packages):
    assert list_new_packages(path, [before], replace(before, old, new)) == packages


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("Cargo.toml", CARGO, CARGO + "rand = \n"),
        ("Cargo.toml", "[dependencies\n", CARGO),
        ("pom.xml", POM, POM + "<rand>"),
        ("pom.xml", POM, '<!DOCTYPE p [<!ENTITY e "rand">]>' + POM[22:]),
        ("A.csproj", CSPROJ, CSPROJ.replace('"NUnit"', '"$(rand)"')),
        ("A.csproj", CSPROJ, CSPROJ + "<rand>"),
        ("libs.versions.toml", CATALOG, CATALOG + "rand = \n"),
        ("composer.json", COMPOSER, COMPOSER + "rand"),
        ("composer.json", COMPOSER, "[" * 100_000 + "rand"),
    ],
)
def test_what_cannot_be_read_is_asked_about_word_by_word(path, before, after):
    new = list_new_packages(path, [before], after)
    assert {"rand", "serde"} & {*new}


def test_what_another_manifest_of_the_repository_names_is_not_new():
    member = '[package]\nname = "member"\n\n[dependencies]\nserde.workspace = true\n'
    assert list_new_packages("member/Cargo.toml", ["", CARGO], member) == []
    assert list_new_packages("member/Cargo.toml", [""], member) == ["serde"]


def test_a_property_of_a_parent_names_packages_of_its_modules():
    module = POM.replace("<artifactId>junit", "<artifactId>${lib}")
    parent = "<project><properties><lib>{}</lib></properties></project>"
    before = [parent.format("junit"), module]
    assert list_new_packages("pom.xml", before, parent.format("evil")) == ["junit:evil"]
    assert list_new_packages("pom.xml", before, parent.format("junit")) == []


@pytest.mark.parametrize("path", ["mix.exs", "Gemfile", "a.gemspec", "build.gradle", "b.csproj"])
@pytest.mark.parametrize("line", ["a: " + "1" * 350 + "!", "a:" * 150 + "!", " " * 390 + "!"])
def test_hostile_lines_take_no_time(path, line):
    list_new_packages(path, [""], "\n".join([f"{line}{n}" for n in range(200)]))
