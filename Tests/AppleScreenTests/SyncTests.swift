import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastSyncData
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the card of a sync.
@Suite @MainActor struct SyncTests {
  private let steps = SyncTypeRow.sample("StepCount", synced: 1_200)
  private let waiting = SyncTypeRow.sample("HeartRate", pending: 1, synced: 1)

  private func lines(_ sync: SyncProgress, _ language: String = "en") -> [String] {
    screen(SyncCard(sync), language).text
  }

  @Test func `a sync goes from reading to sending to its end`() {
    let sync = SyncProgress.preview()
    let shown = screen(SyncCard(sync))
    #expect(shown.lines == ["Health data", "… Reading health data…"])
    sync.types = [steps, waiting]
    shown.render()
    #expect(
      shown.lines == ["Health data", "… 1 package is waiting to be sent.", "1,201 values sent"])
    sync.types = [.sample("HeartRate", synced: 1)]
    shown.render()
    #expect(shown.lines == ["Health data", "Everything was sent.", "1 value sent"])
    #expect(
      lines(sync, "de") == ["Gesundheitsdaten", "Alles wurde gesendet.", "1 Wert gesendet"])
    check(shown)
  }

  @Test(arguments: [
    (SyncNotice.unreachable(.refused), "Waiting for a connection to the server."),
    (.source(type: "", .locked(detail: "")), "Waiting until this device is unlocked."),
    (.source(type: "", .failed(detail: "")), "Health data cannot be read at present."),
    (.store(.full(detail: "")), "The storage of this device is full."),
  ])
  func `a sync that waits tells why, and can be started again`(notice: SyncNotice, reason: String) {
    let sync = SyncProgress.preview([waiting], notice: notice)
    let shown = screen(SyncCard(sync))
    #expect(
      shown.lines == [
        "Health data", "1 package is waiting to be sent.", reason, "1 value sent", "[Try again]",
      ])
    shown.setLanguage("de")
    check(shown)
  }

  @Test func `a failure of the network is forgotten once everything is sent`() {
    #expect(lines(.preview([steps], notice: .unreachable(.refused))).count == 3)
    #expect(lines(.preview([steps], notice: .divided(file: ""))).count == 3)
  }

  @Test func `a refused secret leads to the sign-in`() {
    var count = 0
    let sync = SyncProgress.preview([waiting], needsSignIn: true, notice: .secretRefused)
    let shown = screen(SyncCard(sync, signIn: { count += 1 }))
    #expect(shown.lines[2] == "Please sign in again.")
    shown.press("Sign in")
    #expect(count == 1)
    #expect(screen(SyncCard(sync)).buttons.isEmpty)
  }

  @Test func `packages that the server did not accept can be sent again`() {
    let sync = SyncProgress.preview([steps], quarantined: [.sample])
    #expect(
      lines(sync, "de").suffix(2)
        == ["Der Server hat 1 Paket nicht angenommen.", "[Erneut senden]"])
    #expect(
      lines(sync).suffix(2) == ["The server did not accept 1 package.", "[Send again]"])
  }

  @Test func `the user is asked for access, once at a time`() async {
    let (answers, answer) = AsyncStream.makeStream(of: HealthSourceFailure?.self)
    #expect(!lines(.preview([steps])).contains("[Allow access to health data]"))
    let source = AskingSource(answers: answers)
    let sync = SyncProgress(
      Opening(previewing: .open), Dates(clock: PreviewClock()), source: (source, { ["steps"] }))
    let shown = screen(SyncCard(sync))
    shown.press("Allow access to health data")
    #expect(shown.lines.last == "(Allow access to health data)")
    answer.yield(.locked(detail: ""))
    await shown.wait { shown.lines.last == "Waiting until this device is unlocked." }
    answer.yield(nil)
    shown.press("Allow access to health data")
    await shown.wait { shown.lines.last == "[Allow access to health data]" }
    check(shown)
  }

  @Test func `the last sync is shown if it is known`() {
    let sync = SyncProgress.preview([steps])
    let shown = screen(SyncCard(sync))
    #expect(shown.lines.count == 3)
    sync.lastSync = now
    shown.render()
    #expect(shown.text.last == "Last sync  Sep 1, 2026  10:00 AM")
    #expect(shown.elements.last?.label.hasPrefix("Last sync, Sep 1, 2026") == true)
  }

  @Test func `a sync that is being opened, or could not be, says so`() {
    #expect(lines(.preview(phase: .opening), "de") == ["Gesundheitsdaten", "… Wird geöffnet …"])
    let sync = SyncProgress.preview(
      phase: .failed(.store(.fromTheFuture(found: 2, supported: 1))))
    let shown = screen(SyncCard(sync))
    shown.press("Try again")
    #expect(sync.phase == .opening)
  }
}

/// A source whose question a test answers.
private struct AskingSource: HealthSource {
  let answers: AsyncStream<HealthSourceFailure?>

  func ask(for types: [String]) async throws(HealthSourceFailure) {
    #expect(types == ["steps"])
    for await failure in answers {
      guard let failure else { return }
      throw failure
    }
  }

  func observe(_ types: [String], _ fired: @escaping @Sendable ([String], Wake) -> Void) async {}

  func page(
    _ type: String, from start: HealthPageStart, limit: Int
  ) async throws(HealthSourceFailure) -> SourcePage {
    throw .failed(detail: "there are no samples")
  }

  func stop() async {}
}
