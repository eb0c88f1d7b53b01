import Foundation
import HoldfastTestKit
import Testing

/// Tests of `make install` and `make uninstall`, with the programs built for the tests.
@Suite(.timeLimit(.minutes(60))) struct InstallTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  private static func files(below path: String) async throws -> [String] {
    await CommandProcess.outcome(
      of: try LabProcess(["find", path, "-type", "f", "-printf", "%P\\n"])
    ).output.sorted()
  }

  private func make(_ target: String, in scratch: Scratch) async throws {
    let outcome = await CommandProcess.outcome(
      of: try LabProcess([
        "make", "-C", Self.root, target, "SWIFT=true",
        "PROGRAMS=\(URL(filePath: CommandProcess.path).deletingLastPathComponent().path)",
        "DESTDIR=\(scratch.path)", "PREFIX=/opt/holdfast",
      ]))
    #expect(outcome.status == 0, "\(outcome.errors)")
  }

  @Test func `put the programs, their manuals and their completions below PREFIX, and remove them`()
    async throws
  {
    let scratch = try Scratch()
    try await make("install", in: scratch)
    let found = try await Self.files(below: scratch("opt/holdfast"))
    let manual = found.filter { $0.hasPrefix("share/man/man1/") }
    #expect(manual.contains("share/man/man1/holdfast.1"))
    #expect(manual.contains("share/man/man1/holdfast-policy-show.1"))
    #expect(manual.contains("share/man/man1/holdfast-sim-simulate-relay.1"))
    #expect(
      found.filter { !manual.contains($0) } == [
        "bin/holdfast", "bin/holdfast-sim", "share/bash-completion/completions/holdfast",
        "share/bash-completion/completions/holdfast-sim",
        "share/fish/vendor_completions.d/holdfast-sim.fish",
        "share/fish/vendor_completions.d/holdfast.fish", "share/zsh/site-functions/_holdfast",
        "share/zsh/site-functions/_holdfast-sim",
      ])
    let version = await CommandProcess.outcome(
      of: try LabProcess([scratch("opt/holdfast/bin/holdfast"), "version"]))
    #expect(version == (try await CommandProcess.run("version")))
    try await make("uninstall", in: scratch)
    #expect(try await Self.files(below: scratch.path) == [])
  }
}
