import HoldfastCore
import HoldfastSessionAudit
import Testing

@testable import HoldfastTestKit

/// Tests that reports, and the steps of scripts, match stored texts exactly.
@Suite struct ReportTextTests {
  @Test(arguments: [PretendServer.Kind.session, .echo, .silent])
  func `a report of a server matches the stored text`(kind: PretendServer.Kind) throws {
    let report = PretendAudit.report(kind, isEncrypted: kind == .session)
    #expect(try GoldenText("\(kind).md").difference(report.markdown) == nil)
  }

  @Test func `a report without a key matches the stored text`() throws {
    let report = PretendAudit.report(hasKey: false)
    #expect(try GoldenText("no-key.md").difference(report.markdown) == nil)
  }

  /// Returns the findings that the faults of a server change.
  private static func changes(
    _ sound: AuditEvidence, _ faults: Set<PretendServer.Fault>
  ) -> [String] {
    let found = PretendAudit.evidence(.session, faults)
    return Probe.allCases.compactMap { probe in
      let finding = found.finding(probe)
      guard finding != sound.finding(probe) else { return nil }
      return "\(probe) \(finding.outcome): \(finding.evidence)"
    }
  }

  @Test func `the changes that each fault causes match the stored text`() throws {
    let sound = PretendAudit.evidence()
    let lines = PretendServer.Fault.allCases.flatMap { fault in
      ["# \(fault)", ""] + Self.changes(sound, [fault]) + [""]
    }
    #expect(try GoldenText("faults.txt").difference(lines) == nil)
  }

  @Test(arguments: [PretendServer.Kind.session, .silent])
  func `the steps of scripts match the stored text`(kind: PretendServer.Kind) throws {
    let key = AuditKey(key: Secret(PretendServer.key), sign: { PretendServer.sign($0) })
    var lines: [String] = []
    for script in AuditPlan(generator: RandomSource(seed: 1)).scripts {
      lines += ["# \(script.name), \(script.phase), needs a login: \(script.needsLogin)", ""]
      var server = PretendServer(kind)
      let record = PretendAudit.play(script, key, with: &server) { now, effect in
        let time = Instant.zero.duration(to: now) / .milliseconds(1)
        lines.append("\(time) ms: \(Self.text(effect))")
      }
      lines += ["complete: \(record.isComplete)", ""]
    }
    #expect(try GoldenText("scripts-\(kind).txt").difference(lines) == nil)
  }

  private static func text(_ effect: ScriptRun.Effect) -> String {
    switch effect {
    case .open(let line): return "open \(line)"
    case .send(let line, let bytes):
      let text = String(decoding: bytes, as: UTF8.self)
      return "send \(line): \(text.prefix(600))" + (text.count > 600 ? " of \(text.count)" : "")
    case .sendBinary(let line, let bytes): return "send \(line) in binary: \(bytes)"
    case .sendRaw(let line, let bytes): return "send \(line) raw: \(bytes)"
    case .ping(let line): return "ping \(line)"
    case .drop(let line): return "drop \(line)"
    }
  }

  @Test func `a text with another word or another length does not match`() throws {
    let report = PretendAudit.report(.silent).markdown
    for wrong in [report + [""], Array(report.dropLast()), ["# Another"] + report.dropFirst()] {
      #expect(try GoldenText("silent.md").compare(wrong) != nil)
    }
  }
}
