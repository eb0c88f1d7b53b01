import Foundation
import Holdfast
package import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts

/// The command `holdfast mcp`: answers one assistant from the stored samples, over standard input
/// and output.
package enum MCPCommand {
  private static let zone = Parameter.optional(
    "time-zone", .timeZone, usual: "this machine's",
    "the time zone in which days begin, such as Europe/Berlin")
  private static let watch = Parameter.optional(
    "watch", .text("EXPORT"),
    "import this export of Apple Health first, and again whenever the file changes")

  package static var command: Command {
    Command(
      "mcp", "answer an assistant from an export, over stdin and stdout",
      details: [
        """
        Speaks the Model Context Protocol over standard input and output, one JSON-RPC message a \
        line, as assistants expect of a program that they start themselves: no server, phone, \
        address or login is needed. Answers come from the health data in the data directory, which \
        `health import` stores, and are the same as those of `relay`. Diagnostics go to standard \
        error. It ends with its input, or with Ctrl-C.
        """,
        """
        With --watch the program answers at once, but questions wait for the first import, at most \
        45 s. An import reads the whole file, also if it was imported before. Later imports run \
        while questions are answered. If the file cannot be imported, a diagnostic says why, and \
        answers come from what is stored. Several programs may use one data directory: while one \
        imports, another one that wants to import tries again after a minute.
        """,
        """
        Versions 2024-11-05 to 2025-11-25 of the protocol begin with initialize, 2026-07-28 with \
        server/discover. A line has at most 1 MiB.
        """,
      ],
      examples: [
        .init(
          "holdfast health import export.zip && claude mcp add health -- holdfast mcp",
          "let Claude Code ask"),
        .init(
          "holdfast mcp --watch /home/ann/export.zip --time-zone Europe/Berlin",
          "in the configuration of an assistant, without an import before"),
      ],
      signals: [SIGHUP], takes: zone, watch, Shared.data, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let directory = try call.dataDirectory()
    if !FileManager.default.fileExists(atPath: directory) {
      call.diagnostic(
        "there were no health data in \(wholePath(directory)); the directory is created")
    }
    let store = try await CommandFailure.catching { () throws(StoreFailure) in
      try await HoldfastPlatform.readableHealthStore(in: directory)
    }
    if Invocation.isTyped {
      call.diagnostic(
        "waits for JSON-RPC messages of an assistant, which starts this program itself; Ctrl-C "
          + "ends it")
    }
    // Whoever reads the remedy works in another directory than the assistant.
    let option = call[Shared.data].map { " --data \(wholePath($0))" } ?? ""
    let answers = StoredAnswers(
      store, zone: call.zoneRules(zone),
      remedy: "On the iPhone choose Health, the picture at the top right, and Export All Health "
        + "Data; then run `holdfast health import export.zip\(option)` on this machine")
    let run = MCPLineRun(answers, console: call.console) { call.diagnostic($0) }
    let export = call[watch].map { (path: $0, directory: directory) }
    await CommandSignals.cancelling {
      CommandSignals.abandon(call.command)
    } stopping: {
      CommandSignals.watchOutput(of: call.command)
    } _: {
      await run.run(export: export)
    }
    await store.close()
  }

  private static func wholePath(_ path: String) -> String {
    URL(filePath: path).absoluteURL.standardized.path.printable
  }
}
