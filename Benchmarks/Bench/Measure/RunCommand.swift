import CommandKit
import Foundation
import LinkWire

/// `holdfast-bench run`: every benchmark, or some, side by side with their peers.
enum RunCommand {
  private static let only = Parameter<[String]>.repeated(
    "only", .text("NAME"), "leave the others out")
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
      examples: [.init("holdfast-bench run --only ingest", "one of them")],
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
      let verdict = await benchmark.run(rounds: rounds) { call.console.diagnostic($0) }
      if let path = call[save] { try append(verdict, to: path) }
      if call[json] {
        call.console.object { verdict.write(to: &$0) }
      } else {
        for line in verdict.lines(call.console.style) { call.console.line(line) }
      }
      if verdict.peers.contains(where: { verdict.reaches($0) == false }) {
        missed.append(benchmark.name)
      }
    }
    if !missed.isEmpty {
      call.console.diagnostic("below their aims: \(missed.joined(separator: ", "))")
    }
  }

  private static func append(_ verdict: Verdict, to path: String) throws(CommandFailure) {
    var writer = JSONWriter(capacity: 1024)
    writer.beginObject()
    verdict.write(to: &writer)
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

extension Verdict {
  /// A table for people.
  func lines(_ style: Style) -> [String] {
    var table = Table("", benchmark.unit, "least", "most", "ratio", "aim")
    table.row(
      subject.name, figure(subject.median), figure(subject.values.min()),
      figure(subject.values.max()), "", "")
    if let obstacle = subject.obstacle { table.row("", "cannot run: \(obstacle)") }
    for peer in peers {
      if let obstacle = peer.obstacle {
        table.row(peer.name, "cannot run: \(obstacle)")
        continue
      }
      let ratios = ratios(to: peer)
      let ratio =
        "\(figure(Statistics.median(ratios))) (\(figure(ratios.min()))-\(figure(ratios.max())))"
      table.row(
        peer.name, figure(peer.median), figure(peer.values.min()), figure(peer.values.max()), ratio,
        aim(of: peer))
    }
    return ["", "\(benchmark.name): \(benchmark.question)"] + table.lines(style)
  }

  private func aim(of peer: Figures) -> String {
    guard let aim = peer.aim else { return "" }
    let sign = benchmark.better == .more ? ">=" : "<="
    let mark = reaches(peer).map { $0 ? " reached" : " MISSED" } ?? ""
    return "\(sign) \(figure(aim))\(mark)"
  }

  /// Three digits that count.
  private func figure(_ value: Double?) -> String {
    guard let value, value.isFinite else { return "-" }
    if abs(value) >= 100 { return "\(Int(value.rounded()))" }
    let scale = abs(value) >= 10 ? 10.0 : abs(value) >= 1 ? 100 : 1000
    return "\((value * scale).rounded() / scale)"
  }

  func write(to writer: inout JSONWriter) {
    writer.key("benchmark")
    writer.string(benchmark.name)
    writer.key("unit")
    writer.string(benchmark.unit)
    writer.key("better")
    writer.string(benchmark.better.rawValue)
    writer.key("contenders")
    writer.beginArray()
    for figures in [subject] + peers {
      writer.beginObject()
      writer.key("name")
      writer.string(figures.name)
      writer.key("values")
      writer.beginArray()
      for value in figures.values { writer.double(value) }
      writer.endArray()
      if let aim = figures.aim {
        writer.key("aim")
        writer.double(aim)
      }
      if let obstacle = figures.obstacle {
        writer.key("obstacle")
        writer.string(obstacle)
      }
      writer.endObject()
    }
    writer.endArray()
  }
}
