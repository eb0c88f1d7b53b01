import Foundation
import Holdfast
import HoldfastBottleData
import HoldfastBottleLink
@_spi(Script) import SwiftUI
import Testing

@testable import HoldfastUI

/// Tests of the card of a bottle.
@Suite @MainActor struct BottleTests {
  private func card(_ bottle: BottleDrinks, _ open: (@MainActor () -> Void)? = nil) -> BottleCard {
    BottleCard(bottle, openSettings: open)
  }

  @Test func `amounts and the last drinks are shown`() {
    let bottle = BottleDrinks.preview(
      DrinkRow.samples, state: .sample(total: 270, minute: 560),
      status: .sample(.connected, [.connection]))
    #expect(
      screen(card(bottle)).text == [
        "Bottle", "Connected", "Today  270 ml", "In the bottle  450 ml", "Battery  80%",
        "[Fetch drinks]", "Last drinks", "Refilled: 450 ml  Sep 1, 2026  9:20 AM",
        "90 ml  Sep 1, 2026  9:15 AM", "180 ml  Sep 1, 2026  8:00 AM",
      ])
    #expect(
      screen(card(bottle), "de").text.prefix(8) == [
        "Trinkflasche", "Verbunden", "Heute  270 ml", "In der Flasche  450 ml", "Batterie  80 %",
        "[Getränke abrufen]", "Zuletzt getrunken", "Nachgefüllt: 450 ml  1. Sept. 2026  9:20",
      ])
  }

  @Test func `a bottle that has not reported yet shows only what is stored`() {
    let bottle = BottleDrinks.preview(status: .sample(.disconnected, [.queuedScan]))
    #expect(
      screen(card(bottle)).lines == [
        "Bottle", "No bottle is known yet.", "Move the bottle to wake it.", "Today  0 ml",
        "[Fetch drinks]", "Last drinks", "Nothing yet",
      ])
  }

  @Test func `the total is that of the day, without deleted drinks and refills`() {
    let day = Date(timeIntervalSince1970: 1_788_220_800)
    let drinks: [DrinkRow] = [
      .sample(1, 100, minute: -1), .sample(2, 200, minute: 0), .sample(3, -500, minute: 5),
      .sample(4, 300, minute: 6, isDeleted: true), .sample(5, 50, minute: 7),
    ]
    #expect(BottleAmounts(drinks, nil, since: day).today == 250)
    #expect(BottleAmounts.last(of: drinks).map(\.id) == [5, 3, 2, 1])
    // The bottle has counted a drink that it has not sent.
    #expect(BottleAmounts(drinks, .sample(total: 400, minute: 8), since: day).today == 400)
    #expect(BottleAmounts(drinks, .sample(total: 40, minute: 8), since: day).today == 250)
    #expect(BottleAmounts(drinks, .sample(total: 400, minute: -1), since: day).today == 250)
    var wrong = BottleState.sample(total: 400, minute: 8)
    wrong.flags.remove(.timeIsValid)
    #expect(BottleAmounts(drinks, wrong, since: day).today == 250)
  }

  @Test func `the total begins anew at midnight`() {
    let bottle = BottleDrinks.preview([.sample(1, 200, minute: 600)], status: .sample(.connected))
    let shown = screen(card(bottle))
    #expect(shown.lines.contains("Today  200 ml"))
    shown.now += 24 * 3_600
    shown.render()
    #expect(shown.lines.contains("Today  0 ml"))
  }

  @Test func `only a calibrated bottle knows its level`() {
    var state = BottleState.sample(battery: 4, flags: .batteryIsLow)
    state.flags.remove(.isCalibrated)
    let amounts = BottleAmounts([], state, since: now)
    #expect(amounts.level == nil && amounts.battery == 4 && amounts.isBatteryLow)
    let shown = screen(card(.preview(state: state, status: .sample(.connected))))
    #expect(shown.lines.contains("Battery is low  4%"))
  }

  @Test(arguments: [
    (BottleStatus.sample(.connected, [.connection]), ["Connected"]),
    (.sample(.scanning, [.scan]), ["Searching for the bottle…", "Move the bottle to wake it."]),
    (.sample(.connecting, [.connect]), ["Connecting…"]),
    (.sample(.discovering, [.discovery]), ["Connecting…"]),
    (
      .sample(.disconnected, [.queuedConnect, .timer]),
      ["Connects as soon as the bottle is awake and near."]
    ),
    (
      .sample(.disconnected, [.timer]),
      [
        "The connection was lost. The next attempt follows soon.", "Move the bottle to wake it.",
        "[Try again]",
      ]
    ),
    (.sample(.disconnected), ["Not connected", "[Try again]"]),
    (
      .sample(.disconnected, [.adapter], adapter: .off),
      ["Bluetooth is off.", "Turn on Bluetooth to receive drinks."]
    ),
    (
      .sample(.disconnected, [.adapter], adapter: .unauthorised),
      ["This app is not allowed to use Bluetooth.", "Allow Bluetooth for this app in Settings."]
    ),
    (.sample(.disconnected, [], adapter: .unsupported), ["This device has no Bluetooth."]),
    (.sample(.disconnected, [.adapter], adapter: .resetting), ["Bluetooth is restarting."]),
  ])
  func `a status is told with what helps`(status: BottleStatus, lines: [String]) {
    let shown = screen(card(.preview(status: status)))
    #expect(Array(shown.lines.dropFirst().prefix { $0 != "Today  0 ml" }) == lines)
    _ = screen(card(.preview(status: status)), "de")
  }

  @Test func `the permission is changed in the settings`() {
    var count = 0
    let bottle = BottleDrinks.preview(status: .sample(.disconnected, adapter: .unauthorised))
    screen(card(bottle) { count += 1 }).press("Open Settings")
    #expect(count == 1)
  }

  @Test func `the time until the next attempt counts down`() {
    let bottle = BottleDrinks.preview(
      status: .sample(.disconnected, [.timer]), retryAt: now + 20)
    let shown = screen(card(bottle))
    #expect(shown.lines[3] == "Next attempt in 20 seconds")
    shown.now += 19
    shown.render()
    #expect(shown.lines[3] == "Next attempt in 1 second")
    shown.setLanguage("de")
    #expect(shown.lines[3] == "Nächster Versuch in 1 Sekunde")
    bottle.status = .sample(.disconnected, [.timer], adapter: .off)
    shown.render()
    #expect(!shown.lines.contains("Nächster Versuch in 1 Sekunde"))
    check(shown)
  }

  @Test(arguments: [
    (BottleRefreshResult.synced(1), "1 new drink", "1 neues Getränk"),
    (.synced(0), "0 new drinks", "0 neue Getränke"),
    (.synced(1_200), "1,200 new drinks", "1.200 neue Getränke"),
    (.alreadySynced, "Everything was already fetched.", "Es war bereits alles abgerufen."),
    (.nothingCame(3), "Everything was already fetched.", "Es war bereits alles abgerufen."),
    (
      .bottleAsleep, "The bottle was not found. Move it to wake it.",
      "Die Trinkflasche wurde nicht gefunden. Sie wacht auf, wenn sie bewegt wird."
    ),
    (.bluetoothOff, "Bluetooth is off.", "Bluetooth ist ausgeschaltet."),
    (.bluetoothUnavailable, "Bluetooth cannot be used.", "Bluetooth kann nicht verwendet werden."),
    (
      .connectionFailed, "The bottle was found, but could not be connected.",
      "Die Trinkflasche wurde gefunden, konnte aber nicht verbunden werden."
    ),
    (
      .syncFailed, "The drinks were not received.", "Die Getränke wurden nicht übertragen."
    ),
  ])
  func `each result of a refresh has words`(
    result: BottleRefreshResult, english: String, german: String
  ) {
    let shown = screen(Text(Phrase(result)))
    #expect(shown.lines == [english])
    shown.setLanguage("de")
    #expect(shown.lines == [german])
    check(shown)
  }

  @Test func `drinks that could not be opened are told`() {
    let bottle = BottleDrinks.preview(phase: .failed(.store(.corrupt(detail: ""))))
    let shown = screen(card(bottle))
    #expect(
      shown.lines
        == ["Bottle", "The data on this device cannot be used at present.", "[Try again]"])
    shown.press("Try again")
    #expect(bottle.phase == .opening)
  }
}
