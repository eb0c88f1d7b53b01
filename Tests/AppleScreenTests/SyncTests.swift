import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastWire
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the card of a sync.
@Suite @MainActor struct SyncTests {
  private let steps = SyncTypeRow.sample("StepCount", synced: 1_200)
  private let waiting = SyncTypeRow.sample("HeartRate", pending: 1, synced: 1)

  private func lines(_ sync: ScriptedSync, _ language: String = "en") -> [String] {
    screen(SyncCard(model: sync), language).text
  }

  @Test func `a sync goes from reading to sending to its end`() {
    let sync = ScriptedSync()
    let shown = screen(SyncCard(model: sync))
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
  func `a sync that waits tells why, and is started again`(notice: SyncNotice, reason: String) {
    let sync = ScriptedSync([waiting], notice: notice)
    let shown = screen(SyncCard(model: sync))
    #expect(
      shown.lines == [
        "Health data", "1 package is waiting to be sent.", reason, "1 value sent", "[Try again]",
      ])
    shown.press("Try again")
    #expect(shown.lines[1] == "… 1 package is waiting to be sent.")
    _ = screen(SyncCard(model: ScriptedSync([waiting], notice: notice)), "de")
  }

  @Test func `a failure of the network is forgotten once everything is sent`() {
    #expect(lines(ScriptedSync([steps], notice: .unreachable(.refused))).count == 3)
    #expect(lines(ScriptedSync([steps], notice: .divided(file: ""))).count == 3)
  }

  @Test func `a refused secret leads to the sign-in`() {
    var count = 0
    let sync = ScriptedSync([waiting], notice: .secretRefused, needsSignIn: true)
    let shown = screen(SyncCard(model: sync, signIn: { count += 1 }))
    #expect(shown.lines[2] == "Please sign in again.")
    shown.press("Sign in")
    #expect(count == 1)
    #expect(screen(SyncCard(model: sync)).buttons.isEmpty)
  }

  @Test func `packages that the server did not accept are sent again by a button`() {
    let sync = ScriptedSync([steps], quarantined: [.sample])
    #expect(
      lines(sync, "de").suffix(2)
        == ["Der Server hat 1 Paket nicht angenommen.", "[Erneut senden]"])
    let shown = screen(SyncCard(model: sync))
    #expect(shown.lines[3] == "The server did not accept 1 package.")
    shown.press("Send again")
    #expect(shown.lines.count == 3)
  }

  @Test func `the user is asked for access, once at a time`() async {
    let (answers, answer) = AsyncStream.makeStream(of: Void.self)
    let sync = ScriptedSync([steps])
    #expect(!lines(sync).contains("[Allow access to health data]"))
    sync.canAsk = true
    sync.answer = {
      for await _ in answers { break }
      return .locked(detail: "")
    }
    let shown = screen(SyncCard(model: sync))
    shown.press("Allow access to health data")
    #expect(shown.lines.last == "(Allow access to health data)")
    answer.yield()
    await shown.wait { shown.lines.last == "Waiting until this device is unlocked." }
    sync.answer = nil
    shown.press("Allow access to health data")
    await shown.wait { shown.lines.last == "[Allow access to health data]" }
    check(shown)
  }

  @Test func `the last sync is shown if it is known`() {
    let sync = ScriptedSync([steps])
    let shown = screen(SyncCard(model: sync))
    #expect(shown.lines.count == 3)
    sync.lastSync = now
    shown.render()
    #expect(shown.text.last == "Last sync  Sep 1, 2026  10:00 AM")
    #expect(shown.elements.last?.label.hasPrefix("Last sync, Sep 1, 2026") == true)
  }

  @Test func `a model for previews shows what it was given`() async throws {
    let shown = screen(
      SyncCard(.preview([steps], quarantined: [.sample], lastSync: now, canAsk: true)))
    #expect(
      shown.text == [
        "Health data", "Everything was sent.", "1,200 values sent",
        "The server did not accept 1 package.", "Last sync  Sep 1, 2026  10:00 AM",
        "[Send again]", "[Allow access to health data]",
      ])
    let refused = SyncProgress.preview([waiting], needsSignIn: true, phase: .open)
    #expect(screen(SyncCard(refused)).lines[2] == "Please sign in again.")
    try await refused.ask()
    #expect(!refused.canAsk && refused.lastSync == nil)
  }

  @Test func `a sync that is being opened, or could not be, says so`() {
    let sync = ScriptedSync()
    sync.phase = .opening
    #expect(lines(sync, "de") == ["Gesundheitsdaten", "… Wird geöffnet …"])
    sync.phase = .failed(.store(.fromTheFuture(found: 2, supported: 1)))
    let shown = screen(SyncCard(model: sync))
    shown.press("Try again")
    #expect(sync.phase == .opening)
  }
}
