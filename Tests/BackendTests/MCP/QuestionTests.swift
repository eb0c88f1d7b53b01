import Foundation
import Holdfast
import HoldfastBackend
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastTestKit
import Testing

/// Tests that ask a real phone forty typical questions through the official SDKs.
///
/// The phone has imported an export. A script computes each number independently from the same
/// export, and compares it with the answer.
@Suite(
  .enabled(
    if: Assistant.SDK.areInstalled,
    "needs the Python SDK of MCP: run scripts/peers where there is a network"),
  .offThePool, .serialized, .timeLimit(.minutes(60)))
struct QuestionTests {
  private struct Line: Decodable {
    var question: String?
    var good: Bool?
    /// Whether the export contains no number for the question.
    var none: Bool?
    var asked: Int?
  }

  @Test func `the answers to the forty questions match an independent count`() async throws {
    let scratch = try Scratch()
    let path = scratch("export.xml")
    try Self.export().write(to: URL(fileURLWithPath: path))
    // The answers do not depend on the SDK. `AssistantTests` covers both SDKs.
    let unanswered = try await Self.ask(path, "Europe/Zurich", Assistant.Kind.all[0])
    #expect(unanswered == ["How many steps did I take in 1999?"])
  }

  @Test func `a program over stdin and stdout answers them from the export alone`() async throws {
    let scratch = try Scratch()
    let (path, zone) = (scratch("export.xml"), "Europe/Zurich")
    try Self.export().write(to: URL(fileURLWithPath: path))
    let command = try Assistant.command(
      ["mcp", "--data", scratch("data"), "--time-zone", zone, "--watch", path])
    let kind = Assistant.Kind.all[2]
    let lines = try await Self.run(kind, [command, kind.mode, path, zone, "", ""])
    #expect(lines.last?.asked == 40)
    for line in lines.dropLast() where line.good != true { Issue.record("\(line)") }
  }

  @Test(.enabled(if: realExport != nil, "no real export; set HOLDFAST_EXPORT to its path"))
  func `the forty questions match an independent count of a real export`() async throws {
    let path = try #require(Self.realExport)
    _ = try await Self.ask(path, "Europe/Berlin", Assistant.Kind.all[1])
  }

  /// The path in `HOLDFAST_EXPORT`, or the path of an export next to the checkout.
  private static let realExport: String? = {
    let root = URL(filePath: #filePath).appending(path: "../../../../..").standardizedFileURL.path
    let named = ProcessInfo.processInfo.environment["HOLDFAST_EXPORT"]
    let path = named ?? root + "/shared/data/apple-health/export.xml"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  /// Returns an export of half a year that includes New Year. It contains naps, and an app that
  /// counts the watch's steps again.
  private static func export() -> Data {
    var generator = HealthExportGenerator(
      // The plan covers 2024-09-15 to 2025-04-02.
      HealthExportGenerator.Plan(seed: 40, firstDay: 19_981, days: 200, density: 0.05))
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    var text = String(decoding: bytes, as: UTF8.self)
    let more = (1...28).map { day in
      let date = "2025-03-\(day < 10 ? "0" : "")\(day)"
      let nap =
        day % 7 != 0
        ? ""
        : """
         <Record type="HKCategoryTypeIdentifierSleepAnalysis" sourceName="Dozer" \
        startDate="\(date) 13:00:00 +0100" endDate="\(date) 13:50:00 +0100" \
        value="HKCategoryValueSleepAnalysisAsleepUnspecified"/>

        """
      return nap + """
         <Record type="HKQuantityTypeIdentifierStepCount" sourceName="Strider" unit="count" \
        startDate="\(date) 07:50:00 +0100" endDate="\(date) 09:10:00 +0100" value="800"/>

        """
    }
    text = text.replacing("</HealthData>", with: more.joined() + "</HealthData>")
    return Data(text.utf8)
  }

  /// Asks all questions, and returns those for which the export contains no number.
  private static func ask(
    _ path: String, _ zone: String, _ kind: Assistant.Kind
  ) async throws -> [String] {
    var unanswered: [String] = []
    let store = MemoryHealthStore()
    let report = try await HealthImport.run(path, into: store)
    #expect(report.ending == .complete)
    try await BackendRig.run { rig in
      let relay = try await Relay(
        RelayConfiguration(
          server: rig.address.url, phone: UUID128(high: 4, low: 0),
          zone: ZoneRules(try #require(TimeZone(identifier: zone))), profile: .service,
          storage: .store(store)))
      relay.start()
      for await update in relay {
        guard case .pair(let pair) = update else { continue }
        let lines = try await run(
          kind, [rig.address.url + "/mcp", kind.mode, path, zone, pair.word.text, pair.code.text])
        #expect(lines.last?.asked == 40)
        #expect(lines.count == 41)
        for line in lines.dropLast() where line.good != true { Issue.record("\(line)") }
        unanswered = lines.filter { $0.none == true }.compactMap(\.question)
        break
      }
      await relay.close()
    }
    return unanswered
  }

  /// Runs the script that asks the questions, and decodes its output.
  private static func run(_ kind: Assistant.Kind, _ arguments: [String]) async throws -> [Line] {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "SDK/ask.py").path
    let process = try LabProcess(
      [kind.sdk.python ?? "python3", script] + arguments,
      environment: ["NO_PROXY": "*", "no_proxy": "*", "PYTHONDONTWRITEBYTECODE": "1"])
    var lines: [Line] = []
    for await line in process.lines {
      if line.contains(#""good": false"#) { Issue.record("\(line)") }
      if let read = try? JSONDecoder().decode(Line.self, from: Data(line.utf8)) {
        lines.append(read)
      }
    }
    for await line in process.diagnostics where lines.last?.asked == nil {
      Issue.record("\(line)")
    }
    return lines
  }
}
