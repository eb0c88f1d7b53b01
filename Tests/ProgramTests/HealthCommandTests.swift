import Foundation
import HoldfastTestKit
import Testing

/// Tests of the output and the exit statuses of `holdfast health`.
@Suite(.timeLimit(.minutes(60))) struct HealthCommandTests {
  /// Writes the smallest export that the generator can create, which covers a year.
  private func generate(_ path: String, until day: String = "2026-01-01") async throws {
    let done = try await CommandProcess.run(
      "health", "generate", "--seed", "5", "--size", "1MB", "--until", day, path)
    #expect(done.status == 0)
    #expect(done.output.count == 1)
  }

  private func object(_ line: String?) throws -> [String: Any] {
    let line = try #require(line)
    return try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  @Test func `generates, imports, imports again and shows an export`() async throws {
    let scratch = try Scratch()
    try await generate(scratch("a.xml"))
    let arguments = ["health", "import", scratch("a.xml"), "--data", scratch("data"), "--json"]
    let first = try object(try await CommandProcess.run(arguments).output.last)
    #expect(first["event"] as? String == "imported")
    #expect(first["ending"] as? String == "complete")
    let added = try #require(first["added"] as? Int)
    let samples = try #require(first["samples"] as? [String: Int])
    let known = try #require(first["known"] as? Int)
    #expect(samples.values.reduce(0, +) == added + known)
    let again = try object(try await CommandProcess.run(arguments).output.last)
    #expect(again["added"] as? Int == 0)
    #expect(again["known"] as? Int == added + known)

    let shown = try await CommandProcess.run("health", "show", "--data", scratch("data"), "--json")
    let counts = try shown.output.map { try object($0)["count"] as? Int ?? 0 }
    #expect(counts.reduce(0, +) == added)
    let list = ["health", "show", "--data", scratch("data"), "--type", "bodymass", "--json"]
    let plain = try object(try await CommandProcess.run(list).output.first)
    #expect(plain["value"] == nil)
    #expect(plain["source"] as? String == "Balance & Scale")
    let open = try object(try await CommandProcess.run(list + ["--values"]).output.first)
    #expect(open["unit"] as? String == "kg")
    #expect((open["value"] as? Double).map { 60...80 ~= $0 } == true)
  }

  @Test func `reports which elements were omitted, and why`() async throws {
    let scratch = try Scratch()
    try scratch.write(
      Array(
        """
        <HealthData><Record type="HKQuantityTypeIdentifierStepCount" sourceName="a" value="x"
        startDate="2026-01-05 08:00:00 +0000" endDate="2026-01-05 08:00:00 +0000"/><Thing/>
        <Record type="HKQuantityTypeIdentifierStepCount" sourceName="a" value="1"
        startDate="2026-01-05 08:00:00 +0000" endDate="2026-01-05 08:00:00 +0000"/>
        """.utf8), to: "a.xml")
    let done = try await CommandProcess.run(
      "health", "import", scratch("a.xml"), "--data", scratch("data"))
    #expect(done.status == 1)
    #expect(
      done.errors == [
        "holdfast health import: \(scratch("a.xml")) is cut off; the samples before its end are "
          + "imported; export again on the phone and import that file, which adds the rest"
      ])
    #expect(done.output.first == "Imported up to where the file is cut off.")
    #expect(done.output[1].hasPrefix("1 sample added, 0 kept, 0 removed; "))
    #expect(done.output.contains("StepCount  1      0     0         1        0        1"))
    #expect(done.output.contains("1        records whose value is not a number"))
    #expect(done.output.contains("1        elements that are not known"))
  }

  @Test func `reports how many samples of an older export were not added`() async throws {
    let scratch = try Scratch()
    func record(_ minute: Int) -> String {
      """
      <Record type="HKQuantityTypeIdentifierStepCount" sourceName="a" value="1"
      startDate="2026-01-01 08:0\(minute):00 +0000" endDate="2026-01-01 08:0\(minute):00 +0000"/>
      """
    }
    for (name, day, minutes) in [("old.xml", 2, [1, 2, 3]), ("new.xml", 3, [1, 3])] {
      let text =
        "<HealthData><ExportDate value=\"2026-01-0\(day) 08:00:00 +0000\"/>"
        + minutes.map(record).joined() + "</HealthData>"
      try scratch.write(Array(text.utf8), to: name)
    }
    func arguments(_ name: String) -> [String] {
      ["health", "import", scratch(name), "--data", scratch("data")]
    }
    for name in ["old.xml", "new.xml"] {
      #expect(try await CommandProcess.run(arguments(name)).status == 0)
    }
    let old = try await CommandProcess.run(arguments("old.xml"))
    #expect(old.output[1].hasPrefix("0 samples added, 2 kept, 0 removed; "))
    #expect(old.output[2].hasPrefix("Nothing was removed: a newer export was imported before."))
    #expect(
      old.output[3] == "1 sample was not added: a newer export covers its time and does not "
        + "contain it. --replace adds it, too.")
    #expect(old.output.contains("StepCount  0      2     0         0        1         0        2"))
    let json = try object(
      try await CommandProcess.run(arguments("old.xml") + ["--json"]).output.last)
    #expect(json["outdated"] as? Int == 1)
  }

  @Test func `reports an unusable input in one line`() async throws {
    let scratch = try Scratch()
    try scratch.write(Array("<gpx/>".utf8), to: "route.xml")
    let foreign = try await CommandProcess.run(
      "health", "import", scratch("route.xml"), "--data", scratch("data"))
    #expect(foreign.status == 1)
    #expect(foreign.errors.count == 1)
    #expect(foreign.errors[0].contains("it holds gpx, not HealthData; use the zip file from the "))
    let export = Array("<HealthData></HealthData>".utf8)
    try scratch.write(Zip([("a.xml", export), ("b.xml", export)]).bytes, to: "two.zip")
    let two = try await CommandProcess.run(
      "health", "import", scratch("two.zip"), "--data", scratch("data"))
    #expect(two.status == 1)
    #expect(two.errors[0].hasSuffix("import one of them, or the older one first"))
    let unknown = try await CommandProcess.run(
      "health", "show", "--data", scratch("data"), "--type", "Nothing")
    #expect(unknown.status == 1)
    #expect(unknown.errors[0].contains("no samples of type Nothing are stored"))
    let size = try await CommandProcess.run("health", "generate", "--size", "12", scratch("x"))
    #expect(size.status == 2)
  }
}
