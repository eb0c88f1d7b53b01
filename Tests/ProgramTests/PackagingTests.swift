import Foundation
import Glibc
import HoldfastTestKit
import Testing

/// Tests of the files in `packaging` that operators install, with Debian's own tools.
@Suite(.timeLimit(.minutes(60))) struct PackagingTests {
  private static let folder = PageCheck.package.appending(path: "packaging")
  static let hasSystemd = Shell.find("systemd-analyze") != nil
  static let makesPackages = Shell.find("dpkg-shlibdeps") != nil && getuid() == 0

  private static func text(of path: String) throws -> String {
    try String(contentsOf: folder.appending(path: path), encoding: .utf8)
  }

  /// Returns the lines of a file that are neither empty nor comments.
  private static func lines(of path: String) throws -> [String] {
    try text(of: path).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("#") }
  }

  /// Returns the options of `holdfast` that lines contain.
  private static func options(in lines: [String]) -> Set<String> {
    let words = lines.flatMap { $0.split { " \",[]".contains($0) }.map(String.init) }
    return Set(words.filter { $0.hasPrefix("--") })
  }

  private static func help(of command: String) async throws -> String {
    try await CommandProcess.run(command, "--help").output.joined(separator: "\n")
  }

  @Test(.enabled(if: PackagingTests.hasSystemd, "needs systemd-analyze: apt-get install systemd"))
  func `systemd finds no fault in the units, and an exposure below 2`() async throws {
    let scratch = try Scratch()
    for name in ["holdfast.service", "holdfast.socket"] {
      // The program of the tests is not where the package installs it.
      let unit = try Self.text(of: "systemd/\(name)")
        .replacing("/usr/bin/holdfast ", with: "\(CommandProcess.path) ")
      try unit.write(toFile: scratch(name), atomically: true, encoding: .utf8)
    }
    let found = try await Shell.run([
      "systemd-analyze", "verify", "--man=no", scratch("holdfast.service"),
      scratch("holdfast.socket"),
    ])
    #expect(found == "")
    // The limit is in tenths, and an exposure of 2.0 would be above it.
    try await Shell.run([
      "systemd-analyze", "security", "--offline=true", "--threshold=19", "--no-pager",
      scratch("holdfast.service"),
    ])
  }

  @Test func `the unit and the image use options that exist`() async throws {
    let serve = try await Self.help(of: "serve")
    let unit = try Self.lines(of: "systemd/holdfast.service").filter { $0.hasPrefix("ExecStart=") }
    let container = try Self.lines(of: "oci/Containerfile")
    let entry = container.filter { $0.hasPrefix("ENTRYPOINT") }
    for option in Self.options(in: unit + entry) { #expect(serve.contains("\(option) ")) }
    #expect(Self.options(in: entry) == ["--data", "--host", "--port"])
    let probe = try await Self.help(of: "probe")
    let check = container.filter { $0.hasPrefix("CMD [\"/usr/bin/holdfast\", \"probe\"") }
    #expect(Self.options(in: check) == ["--url", "--timeout"])
    for option in Self.options(in: check) { #expect(probe.contains("\(option) ")) }
    // What the comments of the proxies recommend.
    for option in ["--trusted-proxy", "--allow-host", "--public-url"] {
      #expect(serve.contains("\(option) "))
      for path in ["nginx/holdfast.conf", "caddy/Caddyfile"] {
        #expect(try Self.text(of: path).contains(option))
      }
    }
  }

  @Test func `the image copies only installed programs, and runs without root`() throws {
    let lines = try Self.lines(of: "oci/Containerfile")
    let makefile = try String(
      contentsOf: PageCheck.package.appending(path: "Makefile"), encoding: .utf8)
    let installed = makefile.split(separator: "\n").first { $0.hasPrefix("INSTALLED = ") }
    let programs = try #require(installed).split(separator: " ").dropFirst(2).map(String.init)
    let copies = lines.filter { $0.hasPrefix("COPY ") || $0.hasPrefix("ADD ") }
    #expect(copies.count == 1)
    for copy in copies {
      let sources = copy.split(separator: " ").dropFirst().dropLast()
        .filter { !$0.hasPrefix("--") }.map(String.init)
      #expect(!sources.isEmpty && sources.allSatisfy(programs.contains), "\(copy)")
    }
    let user = lines.last { $0.hasPrefix("USER ") }?.dropFirst("USER ".count)
    let numbers = user?.split(separator: ":").compactMap { UInt32($0) } ?? []
    #expect(numbers.count == 2 && numbers.allSatisfy { $0 > 0 })
    #expect(lines.contains("VOLUME /var/lib/holdfast"))
    #expect(lines.contains { $0.hasPrefix("HEALTHCHECK ") })
  }

  @Test func `the image names the libraries that the program needs`() async throws {
    let container = try Self.text(of: "oci/Containerfile")
    let release = try String(contentsOfFile: "/etc/os-release", encoding: .utf8)
    let codename = release.split(separator: "\n").first { $0.hasPrefix("VERSION_CODENAME=") }?
      .dropFirst("VERSION_CODENAME=".count)
    // Another release has other names for the packages.
    guard let codename, container.contains("FROM debian:\(codename)-slim") else { return }
    let packages = try await Shell.run([
      "sh", "-c",
      """
      readelf -d "$1" | awk '/NEEDED/ { gsub(/[][]/, "", $5); print "*/" $5 }' |
        xargs dpkg-query -S 2>/dev/null | cut -d: -f1 | sort -u
      """, "sh", CommandProcess.path,
    ])
    let names = packages.split(separator: "\n").filter { !["libc6", "libstdc++6"].contains($0) }
    // The compiler's own library is part of every image.
    let needed = names.filter { !$0.hasPrefix("libgcc") && !$0.hasSuffix("-dev") }
    #expect(needed.contains("libssl3"))
    let words = container.split(whereSeparator: \.isWhitespace)
    for name in needed { #expect(words.contains(name), "\(name)") }
  }

  @Test(
    .enabled(if: PackagingTests.makesPackages, "needs dpkg-dev, and root: apt-get install dpkg-dev")
  )
  func `the package installs, keeps changed files, and is purged without its data`() async throws {
    let scratch = try Scratch()
    let programs = URL(filePath: CommandProcess.path).deletingLastPathComponent().path
    let said = try await Shell.run([
      Self.folder.appending(path: "debian/build").path, "--programs", programs, "--output",
      scratch.path, "--compression", "none",
    ])
    let package = try #require(said.split(separator: "\n").last.map(String.init))
    #expect(package.hasPrefix(scratch("holdfast_")) && package.hasSuffix(".deb"))
    let root = scratch("root")
    for folder in ["info", "updates", "triggers"] {
      try FileManager.default.createDirectory(
        atPath: "\(root)/var/lib/dpkg/\(folder)", withIntermediateDirectories: true)
    }
    for file in ["status", "available"] {
      try "".write(toFile: "\(root)/var/lib/dpkg/\(file)", atomically: true, encoding: .utf8)
    }
    // The libraries are those of this machine, and no service manager runs in the directory.
    func dpkg(_ words: String...) async throws -> String {
      try await Shell.run(
        [
          "dpkg", "--root=\(root)", "--log=\(root)/log", "--force-script-chrootless",
          "--force-depends",
        ] + words)
    }
    _ = try await dpkg("-i", package)
    for path in [
      "usr/bin/holdfast", "usr/bin/holdfast-sim", "usr/share/man/man1/holdfast-serve.1.gz",
      "usr/share/bash-completion/completions/holdfast", "lib/systemd/system/holdfast.service",
      "lib/systemd/system/holdfast.socket", "etc/default/holdfast", "etc/holdfast/holdfast.toml",
    ] {
      #expect(FileManager.default.fileExists(atPath: "\(root)/\(path)"), "\(path)")
    }
    #expect(
      try await Shell.run(["\(root)/usr/bin/holdfast", "version"])
        == CommandProcess.run("version").output.joined() + "\n")
    try await Self.changeAndPurge(root, package, dpkg)
  }

  /// Installs the package again over a changed file and data, removes it and purges it.
  private static func changeAndPurge(
    _ root: String, _ package: String, _ dpkg: (String...) async throws -> String
  ) async throws {
    let (options, data) = (
      "\(root)/etc/default/holdfast", "\(root)/var/lib/holdfast/messages.sqlite"
    )
    try "OPTIONS=--port 9\n".write(toFile: options, atomically: true, encoding: .utf8)
    try FileManager.default.createDirectory(
      atPath: "\(root)/var/lib/holdfast", withIntermediateDirectories: true)
    try "data".write(toFile: data, atomically: true, encoding: .utf8)
    _ = try await dpkg("-i", package)
    _ = try await dpkg("--remove", "holdfast")
    #expect(try String(contentsOfFile: options, encoding: .utf8) == "OPTIONS=--port 9\n")
    #expect(!FileManager.default.fileExists(atPath: "\(root)/usr/bin/holdfast"))
    #expect(try await dpkg("--purge", "holdfast").contains("/var/lib/holdfast stay"))
    #expect(!FileManager.default.fileExists(atPath: options))
    #expect(try String(contentsOfFile: data, encoding: .utf8) == "data")
  }
}
