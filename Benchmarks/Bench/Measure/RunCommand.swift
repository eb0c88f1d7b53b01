import HoldfastCommandKit
import Foundation
import HoldfastJSON
import HoldfastWire

/// The command `HoldfastBench run`, which runs some or all benchmarks next to their peers.
enum RunCommand {
  private static let only = Parameter<[String]>.repeated(
    "only", .text("NAME"), "run only this benchmark")
  private static let full = Parameter<Bool>.flag("full", "more rounds and larger worlds")
  private static let json = Parameter<Bool>.flag("json", "one JSON object for each benchmark")
  private static let save = Parameter<String?>.optional(
    "save", .text("FILE"), "append the JSON objects to a file as well")

  static var command: Command {
    Command(
      "run", "measure, with peers and limits in the same run",
      details: [
        """
        Each figure stands beside those of the others, measured in turns on this machine. A \
        ratio is ours divided by theirs, round by round: median, and least to most in brackets.
        """
      ],
      examples: [.init("HoldfastBench run --only ingest", "one of them")],
      takes: only, full, json, save, action: run)
  }

  private static func run(_ call: Invocation) async throws(CommandFailure) {
    let wanted = call[only]
    let all = Catalogue.benchmarks(isFull: call[full])
    for name in wanted where !all.contains(where: { $0.name == name }) {
      throw CommandFailure(
        .usage, "there is no benchmark \(name)",
        remedy: "there are \(all.map(\.name).joined(separator: ", "))")
    }
    var missed: [String] = []
    for benchmark in all where wanted.isEmpty || wanted.contains(benchmark.name) {
      let rounds = call[full] ? benchmark.rounds.full : benchmark.rounds.quick
      let result = await benchmark.run(rounds: rounds) { call.console.diagnostic($0) }
      if let path = call[save] { try append(result, to: path) }
      if call[json] {
        call.console.object { result.write(to: &$0) }
      } else {
        for line in result.lines(call.console.style) { call.console.line(line) }
      }
      if result.peers.contains(where: { result.reaches($0) == false }) {
        missed.append(benchmark.name)
      }
    }
    if !missed.isEmpty {
      call.console.diagnostic("below their aims: \(missed.joined(separator: ", "))")
    }
  }

  private static func append(_ result: BenchmarkResult, to path: String) throws(CommandFailure) {
    var writer = JSONWriter(capacity: 1024)
    writer.beginObject()
    result.write(to: &writer)
    writer.endObject()
    guard let file = FileHandle(forWritingAtPath: path) else {
      throw CommandFailure(.failed, "there is no file \(path) to append to")
    }
    do {
      try file.seekToEnd()
      try file.write(contentsOf: writer.bytes + [UInt8(ascii: "\n")])
      try file.close()
    } catch {
      throw CommandFailure(.failed, "cannot write \(path): \(error)")
    }
  }
}
