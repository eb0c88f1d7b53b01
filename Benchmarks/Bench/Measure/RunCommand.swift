import Foundation
import HoldfastCommandKit
import HoldfastJSON

/// The command `HoldfastBench run`, which runs some or all benchmarks next to their peers.
enum RunCommand {
  private static let only = Parameter<[String]>.repeated(
    "only", .text("NAME"), "run only this benchmark, or those that begin with NAME-")
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
    var missed: [String] = []
    for benchmark in try chosen(call[only], of: Catalogue.benchmarks(isFull: call[full])) {
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

  /// Returns the benchmarks with the given names. A name that none has selects those whose names
  /// begin with it and a hyphen; without names, all are returned.
  private static func chosen(
    _ names: [String], of all: [Benchmark]
  ) throws(CommandFailure) -> [Benchmark] {
    var wanted: Set<String> = []
    for name in names {
      let exact = all.map(\.name).filter { $0 == name }
      let found = exact.isEmpty ? all.map(\.name).filter { $0.hasPrefix("\(name)-") } : exact
      guard !found.isEmpty else {
        throw CommandFailure(
          .usage, "there is no benchmark \(name)",
          remedy: "there are \(all.map(\.name).joined(separator: ", "))")
      }
      wanted.formUnion(found)
    }
    return names.isEmpty ? all : all.filter { wanted.contains($0.name) }
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
