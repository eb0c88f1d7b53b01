import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

/// Tests that ask fifteen typical questions with one call each, and compare the numbers with those
/// that a script computes from the text of the export.
@Suite(.enabled(if: CountingScript.canRun, "needs \(CountingScript.python) on Linux"))
struct FifteenQuestionsTests {
  /// The path in `HOLDFAST_EXPORT`, or the path of an export next to the checkout.
  private static let realExport: String? = {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL.path
    let named = ProcessInfo.processInfo.environment["HOLDFAST_EXPORT"]
    let path = named ?? root + "/shared/data/apple-health/export.xml"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  @Test func `fifteen questions about two generated years match an independent count`() async throws
  {
    let scratch = try Scratch()
    // The plan covers 2024-01-01 to 2025-12-31.
    var generator = HealthExportGenerator(
      HealthExportGenerator.Plan(seed: 46, firstDay: 19_723, days: 731, density: 0.05))
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    try scratch.write(bytes, to: "export.xml")
    try await FifteenQuestions("generated", scratch("export.xml"), scratch).check()
  }

  @Test(.enabled(if: realExport != nil, "no real export; set HOLDFAST_EXPORT to its path"))
  func `fifteen questions about a real export match an independent count`() async throws {
    let scratch = try Scratch()
    try await FifteenQuestions("real", try #require(Self.realExport), scratch).check()
  }
}

/// The questions about one export, and the script that knows them.
struct FifteenQuestions {
  /// The maximum size of all answers together, in bytes.
  private static let mostBytes = 40_000

  /// The calls that the script wants.
  private struct Plan: Decodable {
    struct Call: Decodable {
      var question: String
      var tool: String
      /// The arguments as JSON text.
      var arguments: String
    }

    var zone: String
    var now: String
    /// The fifteen questions.
    var calls: [Call]
    /// Further questions, whose answers do not count for the size.
    var further: [Call]
  }

  private let set: String
  private let export: String
  private let scratch: Scratch

  init(_ set: String, _ export: String, _ scratch: Scratch) {
    (self.set, self.export, self.scratch) = (set, export, scratch)
  }

  private func run(_ arguments: [String]) async throws -> CountingScript.Outcome {
    let outcome = try await CountingScript.run("Questions/fifteen.py", arguments)
    #expect(outcome.errors.isEmpty, "\(outcome.errors)")
    return outcome
  }

  /// Asks each question with one call, and lets the script compare the answers.
  func check() async throws {
    let store = try await HoldfastPlatform.healthStore(in: scratch("data"))
    let report = try await HealthImport.run(export, into: store)
    #expect(report.ending == .complete)
    let plan = try JSONDecoder().decode(
      Plan.self, from: Data(try await run(["calls", set]).output.joined().utf8))
    #expect(plan.calls.count == 15)
    let zone = ZoneRules(try #require(TimeZone(identifier: plan.zone)))
    let now = try #require(RFC3339.parse(plan.now))
    var answers: [String] = []
    var (bytes, sizes) = (0, [String: Int]())
    for call in plan.calls + plan.further {
      let question = try Self.question(call.tool, Array(call.arguments.utf8))
      let answer = await store.answer(question, zone: zone, now: now)
      #expect(question.ignoredOption(in: answer) == nil)
      let result = MCPCallResult(answer, of: question.kind)
      #expect(!result.isError, "\(call.question): \(result.text)")
      if sizes.count < plan.calls.count {
        bytes += result.text.utf8.count
        sizes[call.question] = result.text.utf8.count
      }
      answers.append("\"\(call.question)\":\(result.text)")
    }
    #expect(bytes < Self.mostBytes, "\(sizes)")
    try scratch.write(Array("{\(answers.joined(separator: ","))}".utf8), to: "answers.json")
    let compared = try await run(["check", set, export, scratch("answers.json")])
    #expect(compared.status == 0, "\(compared.output.joined(separator: "\n"))")
    await store.close()
  }

  /// Returns the question of a tool call, as the phone reads it.
  private static func question(_ tool: String, _ arguments: [UInt8]) throws -> HealthQuestion {
    let read = try #require(MCPArguments(arguments))
    let kind = try #require(MCPTool(rawValue: tool)?.questionKind)
    let payload =
      kind == .summary ? try read.summaryQuery().payload : try read.healthDataQuery().payload
    return try HealthQuestion.read(kind, payload: payload)
  }
}
