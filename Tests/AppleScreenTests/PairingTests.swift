import Foundation
import Holdfast
import HoldfastCore
import HoldfastHealth
import HoldfastHealthRelay
import HoldfastPorts
import HoldfastRelayData
import HoldfastRelayServer
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the card of a pairing: the states idle, starting, running, reconnecting and error.
@Suite @MainActor struct PairingTests {
  private func lines(_ pairing: HealthPairing, _ language: String = "en") -> [String] {
    screen(PairingCard(pairing), language).text
  }

  @Test func `without a pairing the card offers to connect`() {
    #expect(
      lines(.preview())
        == ["Health assistant", "No assistant can ask for health data.", "[Connect]"])
    #expect(
      lines(.preview(connection: ConnectionState(phase: .connecting, attempt: 1)))
        == ["Health assistant", "… Getting a code…", "Connecting…", "[Forget pairing]"])
  }

  @Test func `a code is shown, and read digit by digit`() {
    let pairing = HealthPairing.preview(.sample, connection: .live)
    let shown = screen(PairingCard(pairing))
    #expect(
      shown.lines == [
        "Health assistant", "Give this code to your assistant:", "402918", "amber-fox",
        "Valid for 10 minutes", "[Forget pairing]",
      ])
    #expect(shown.elements[2].label == "Code: 4 0 2 9 1 8, amber-fox")
    #expect(
      lines(pairing, "de") == [
        "Gesundheitsassistent", "Dieser Code ist für den Assistenten:", "402918", "amber-fox",
        "10 Minuten gültig", "[Kopplung aufheben]",
      ])
  }

  @Test func `a code that is valid for less than two minutes is valid for one`() {
    var pair = RelayPair.sample
    for seconds in [0, 59, 60, 119] {
      pair.expiresIn = .seconds(seconds)
      let pairing = HealthPairing.preview(pair, connection: .live)
      #expect(lines(pairing)[4] == "Valid for 1 minute")
      #expect(lines(pairing, "de")[4] == "1 Minute gültig")
    }
    pair.expiresIn = nil
    #expect(lines(.preview(pair, connection: .live)).count == 5)
  }

  @Test func `a resumed pairing needs no code`() {
    #expect(
      lines(.preview(connection: .live))
        == ["Health assistant", "Paired assistants can ask for health data.", "[Forget pairing]"])
  }

  @Test func `a code is not shown while the connection is lost`() {
    let state = ConnectionState(phase: .reconnecting, reason: .interrupted, attempt: 1)
    let shown = lines(.preview(.sample, connection: state))
    #expect(
      shown == [
        "Health assistant", "… The connection to the assistants is being restored…",
        "Reconnecting…  The connection was interrupted.", "[Forget pairing]",
      ])
  }

  @Test func `after a failure the user can connect again`() {
    let state = ConnectionState(phase: .off, reason: .server, failure: .refused)
    #expect(
      lines(.preview(connection: state)) == [
        "Health assistant", "Assistants cannot ask at present.",
        "Not connected  The server is not available at present.  [Try again]",
        "[Forget pairing]",
      ])
  }

  @Test func `a pairing is forgotten only after a confirmation`() {
    let pairing = HealthPairing.preview(.sample, connection: .live)
    let shown = screen(PairingCard(pairing))
    shown.press("Forget pairing")
    #expect(
      shown.lines.suffix(4) == [
        "Forget this pairing?", "Paired assistants can then no longer ask for health data.",
        "[Forget]", "[Cancel]",
      ])
    #expect(shown.buttons.first { $0.name == "Forget" }?.isDestructive == true)
    shown.press("Cancel")
    #expect(shown.buttons.map(\.name) == ["Forget pairing"])
    check(shown)
  }

  private func assistant(_ id: String, _ name: String?, readsSynced: Bool = true) -> AssistantRow {
    AssistantRow(
      PairedAssistants.Assistant(
        id: id, name: AssistantName(name), since: nil, lastQuestion: Timestamp(now),
        expiresAt: Timestamp(now), readsSynced: readsSynced))
  }

  @Test func `the assistants are listed, and the switch says what it does`() {
    let pairing = HealthPairing.preview(
      connection: .live, assistants: [assistant("a", "Claude"), assistant("b", nil)])
    let shown = lines(pairing)
    #expect(
      shown.dropFirst(2).prefix(4) == [
        "Answer while this phone is away <off>",
        "The server then answers from the health data that this app has sent to it.",
        "Assistants", "Claude",
      ])
    #expect(shown[6].hasPrefix("Last question"))
    #expect(shown.filter { $0 == "[End access]" }.count == 2)
    #expect(shown.contains("Assistant without a name"))
    #expect(!shown.contains { $0.hasPrefix("Also while") })
  }

  @Test func `each assistant can be forbidden to read synced samples`() {
    let pairing = HealthPairing.preview(
      connection: .live,
      assistants: [assistant("a", "Claude"), assistant("b", nil, readsSynced: false)],
      usesSynced: true, failure: .unreachable)
    let shown = screen(PairingCard(pairing))
    #expect(
      shown.switches.map(\.name) == [
        "Answer while this phone is away", "Also while this phone is away",
        "Also while this phone is away",
      ])
    #expect(shown.lines.filter { $0.hasSuffix("<on>") }.count == 2)
    #expect(shown.lines.contains("The server cannot be reached at present."))
    shown.turn("Also while this phone is away")
    #expect(shown.lines.filter { $0.hasSuffix("<on>") }.count == 1)
    check(shown)
  }

  @Test func `access is ended only after a confirmation`() {
    let pairing = HealthPairing.preview(
      connection: .live, assistants: [assistant("a", "Claude")])
    let shown = screen(PairingCard(pairing), "de")
    shown.press("Zugriff beenden")
    #expect(shown.lines.contains("Zugriff dieses Assistenten beenden?"))
    #expect(shown.buttons.first { $0.name == "Beenden" }?.isDestructive == true)
    shown.press("Abbrechen")
    #expect(!shown.buttons.contains { $0.name == "Beenden" })
    check(shown)
  }

  @Test(arguments: ["en", "de"])
  func `each failure of a change has words`(language: String) {
    for failure in [.notSynced, .unsupported, .ended, .unreachable, .store] as [AccessFailure] {
      let shown = lines(
        .preview(connection: .live, usesSynced: true, failure: failure), language)
      #expect(shown.count == 6, "\(shown)")
    }
  }

  @Test func `a token that cannot be read is told`() throws {
    let secrets = MemorySecretStore()
    try secrets.write(Secret("token"), PairingStore.name(in: ""), access: .whileUnlocked)
    secrets.setLocked(true)
    let pairing = HealthPairing(
      Opening(previewing: .open), PairingStore(in: "", ports: DevicePorts(secrets: secrets)),
      Dates(clock: PreviewClock()))
    let shown = screen(PairingCard(pairing))
    shown.press("Connect")
    #expect(shown.lines.contains("The data can be read once this device is unlocked."))
    secrets.setLocked(false)
    shown.press("Connect")
    #expect(!shown.lines.contains("The data can be read once this device is unlocked."))
  }

  @Test func `the last five questions are shown with their results`() throws {
    let pairing = HealthPairing.preview(connection: .live)
    pairing.receipts = try (1...3).flatMap { number in
      try [
        receipt("a\(number)", .answered(points: number, isTruncated: false)),
        receipt("b\(number)", .refused(reason: "no")),
      ]
    }
    #expect(
      lines(pairing).suffix(6) == [
        "Last questions", "Answered with 1 value  10:00 AM", "Refused  10:00 AM",
        "Answered with 2 values  10:00 AM", "Refused  10:00 AM",
        "Answered with 3 values  10:00 AM",
      ])
    pairing.receipts = try [receipt("c", .cancelled), receipt("d", .dropped)]
    #expect(
      lines(pairing, "de").suffix(2) == [
        "Vom Assistenten abgebrochen  10:00", "Nicht beantwortet  10:00",
      ])
  }

  private func receipt(_ id: String, _ outcome: RelayReceipt.Outcome) throws -> ReceiptRow {
    let day = try #require(HealthTime("2026-09-01"))
    return ReceiptRow(
      RelayReceipt(
        id: try #require(RelayRequestID(id)),
        question: .summary(SummaryQuery(start: day, end: day)), outcome: outcome), at: now)
  }

  @Test(arguments: ["en", "de"])
  func `each problem for the user has words`(language: String) {
    for problem in [.inBackground, .unreadable("no"), .busy] as [RelayProblem] {
      #expect(lines(.preview(problem: problem), language).count == 4)
    }
    #expect(Phrase(RelayProblem.oversized(bytes: 9)) == nil)
  }
}
