import Foundation
import HoldfastCore
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the view of a connection's state.
@Suite @MainActor struct ConnectionTests {
  private func view(_ state: ConnectionState) -> ConnectionStatusView {
    ConnectionStatusView(state, retry: {}, signIn: {})
  }

  @Test func `a connection that works, or was not requested, is not shown`() {
    #expect(screen(view(ConnectionState())).lines == [])
    #expect(screen(view(ConnectionState(phase: .live))).lines == [])
  }

  @Test func `a state tells its reason and the next attempt in English and German`() {
    let state = ConnectionState(
      phase: .reconnecting, retryAt: now + 4, reason: .server, attempt: 2, failure: .refused)
    #expect(
      screen(view(state)).lines == [
        "Reconnecting…  The server is not available at present.  Next attempt in 4 seconds"
          + "  [Try again]"
      ])
    #expect(
      screen(view(state), "de").lines == [
        "Verbindung wird wiederhergestellt …  Der Server ist zurzeit nicht verfügbar."
          + "  Nächster Versuch in 4 Sekunden  [Erneut versuchen]"
      ])
  }

  @Test(arguments: [
    (ConnectionState(phase: .connecting, attempt: 1), [String]()),
    (ConnectionState(phase: .reconnecting, reason: .offline), []),
    (ConnectionState(phase: .reconnecting, reason: .background), []),
    (ConnectionState(phase: .reconnecting, reason: .captivePortal), ["Try again"]),
    (ConnectionState(phase: .reconnecting, retryAt: now + 9, reason: .interrupted), ["Try again"]),
    (ConnectionState(phase: .reconnecting, reason: .interrupted), []),
    (ConnectionState(phase: .polling, retryAt: now + 9), []),
    (ConnectionState(phase: .off, reason: .offline), ["Try again"]),
    (ConnectionState(phase: .off, reason: .security, failure: .reset), ["Try again"]),
    (ConnectionState(phase: .off, failure: .reset), ["Try again"]),
    (ConnectionState(phase: .off, reason: .closed), ["Try again"]),
    (ConnectionState(phase: .off, reason: .signIn, needsSignIn: true), ["Sign in"]),
  ])
  func `a button is offered where it helps`(state: ConnectionState, buttons: [String]) {
    #expect(screen(view(state)).buttons.map(\.name) == buttons)
  }

  @Test func `buttons call their closures`() {
    var acts: [String] = []
    func press(_ state: ConnectionState, _ name: String) {
      screen(
        ConnectionStatusView(state) {
          acts.append("retry")
        } signIn: {
          acts.append("sign in")
        }
      ).press(name)
    }
    press(ConnectionState(phase: .off, failure: .reset), "Try again")
    press(ConnectionState(phase: .off, reason: .signIn, needsSignIn: true), "Sign in")
    #expect(acts == ["retry", "sign in"])
  }

  @Test func `an app without a sign-in screen shows no button for it`() {
    let state = ConnectionState(phase: .off, reason: .signIn, needsSignIn: true)
    let shown = screen(ConnectionStatusView(state) {})
    #expect(shown.lines == ["Not connected  Please sign in again."])
  }

  @Test func `a screen reader is told the state as one element`() throws {
    let state = ConnectionState(phase: .polling, retryAt: now + 61, reason: .interrupted)
    let shown = screen(view(state))
    let element = try #require(shown.elements.first)
    #expect(shown.elements.count == 1)
    #expect(
      element.label
        == "Updated from time to time, The connection was interrupted., Next attempt in 2 minutes")
    #expect(element.traits.contains("updates frequently"))
  }

  @Test(
    arguments: [
      (-5.0, nil), (0, nil), (0.0005, nil), (0.5, "1 second"), (1, "1 second"), (1.5, "2 seconds"),
      (59, "59 seconds"), (59.5, "1 minute"), (60, "1 minute"), (60.5, "2 minutes"),
      (61, "2 minutes"), (3_540, "59 minutes"), (3_541, "1 hour"), (3_600, "1 hour"),
      (3_601, "2 hours"), (1e15, "277,778 hours"),
    ] as [(Double, String?)])
  func `a countdown rounds up, and ends with the attempt`(left: Double, text: String?) {
    let shown = screen(CountdownText(end: now + left))
    #expect(shown.lines == (text.map { ["Next attempt in \($0)"] } ?? []))
  }

  @Test func `a countdown is shown again when its number changes`() {
    let countdown = Countdown(end: now + 62.25)
    let times = Array(countdown.entries(from: now, mode: .normal))
    #expect(times.count == 62)
    #expect(times.prefix(4).map { $0.timeIntervalSince(now) } == [0, 2.25, 3.25, 4.25])
    #expect(times.last == now + 62.25)
    let coarse = countdown.entries(from: now, mode: .lowFrequency)
    #expect(coarse.map { $0.timeIntervalSince(now) } == [0, 2.25, 62.25])
    #expect(Array(countdown.entries(from: now + 63, mode: .normal)) == [now + 63])
  }

  @Test func `each shown number differs from the one before`() {
    let countdown = Countdown(end: now + 3_700.5)
    let phrases = countdown.entries(from: now, mode: .normal).map {
      ConnectionText.countdown(to: countdown.end, at: $0)
    }
    #expect(phrases.first != .some(nil) && phrases.last == .some(nil))
    #expect(
      phrases.suffix(60) == (1...59).reversed().map { Phrase("connection.retry.seconds", $0) } + [
        nil
      ])
  }

  @Test func `the countdown goes on while the screen is shown`() {
    let shown = screen(view(ConnectionState(phase: .reconnecting, retryAt: now + 2)))
    #expect(shown.ticks == [now, now + 1, now + 2])
    shown.now = now + 1
    shown.render()
    #expect(shown.lines == ["Reconnecting…  Next attempt in 1 second  [Try again]"])
    shown.now = now + 2
    shown.render()
    #expect(shown.lines == ["Reconnecting…  [Try again]"])
  }

  @Test(arguments: ["en", "de"])
  func `each reason has its own words`(language: String) {
    let reasons: [ConnectionState.Reason] = [
      .offline, .captivePortal, .background, .signIn, .server, .interrupted, .security, .waiting,
      .closed, .device,
    ]
    let texts = reasons.map {
      screen(view(ConnectionState(phase: .reconnecting, reason: $0)), language).lines
    }
    #expect(Set(texts).count == reasons.count)
  }
}
