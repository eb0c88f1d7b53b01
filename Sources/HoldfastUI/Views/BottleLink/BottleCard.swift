#if canImport(SwiftUI)
  import Foundation
  import Holdfast
  import HoldfastBottleLink
  public import SwiftUI

  /// A bottle: what was drunk today, the last drinks, and the state of the connection.
  ///
  ///     BottleCard(links.bottle())
  public struct BottleCard: View {
    private let bottle: BottleDrinks
    private let openSettings: (@MainActor () -> Void)?

    /// Creates a card.
    ///
    /// - Parameter openSettings: A closure that opens the app's page in the settings of the device,
    ///   where the user can allow Bluetooth; `nil` if the app cannot open it.
    public init(_ bottle: BottleDrinks, openSettings: (@MainActor () -> Void)? = nil) {
      (self.bottle, self.openSettings) = (bottle, openSettings)
    }

    /// The view's content.
    public var body: some View {
      let bottle = bottle
      BottleView(bottle: bottle, openSettings: openSettings)
        .id(ObjectIdentifier(bottle))
        .card()
        .task(id: ObjectIdentifier(bottle)) { await bottle.follow() }
    }
  }

  /// The content of the card. Its state belongs to one model.
  private struct BottleView: View {
    let bottle: BottleDrinks
    let openSettings: (@MainActor () -> Void)?
    @State private var result: BottleRefreshResult?
    @State private var isRefreshing = false
    @Environment(\.calendar) private var calendar

    var body: some View {
      VStack(alignment: .leading, spacing: 12) {
        Text(Phrase("bottle.title")).font(.headline).accessibilityAddTraits(.isHeader)
        if bottle.phase == .open {
          BottleStatusView(
            text: BottleText(bottle.status), retryAt: bottle.retryAt, retry: { bottle.reconnect() },
            openSettings: openSettings)
          // A new day begins while the card is shown.
          TimelineView(.everyMinute) { context in
            BottleAmountsView(amounts: amounts(at: context.date))
          }
          refreshButton
          LastDrinks(drinks: BottleAmounts.last(of: bottle.drinks))
        } else {
          OpeningView(phase: bottle.phase) { bottle.retry() }
        }
      }
    }

    private func amounts(at date: Date) -> BottleAmounts {
      BottleAmounts(bottle.drinks, bottle.state, since: calendar.startOfDay(for: date))
    }

    @ViewBuilder private var refreshButton: some View {
      Button(action: refresh) { Text(Phrase("bottle.refresh")) }.disabled(isRefreshing)
      if let result { Text(Phrase(result)).font(.footnote).foregroundStyle(.secondary) }
    }

    private func refresh() {
      (isRefreshing, result) = (true, nil)
      Task {
        result = await bottle.refresh()
        isRefreshing = false
      }
    }
  }

  /// The state of the connection to a bottle.
  private struct BottleStatusView: View {
    let text: BottleText
    let retryAt: Date?
    let retry: @MainActor () -> Void
    let openSettings: (@MainActor () -> Void)?

    var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        Label {
          VStack(alignment: .leading, spacing: 2) {
            Text(text.title)
            if let remedy = text.remedy {
              Text(remedy).font(.footnote).foregroundStyle(.secondary)
            }
            if text.isWaiting { CountdownText(end: retryAt) }
          }
        } icon: {
          if text.isBusy {
            ProgressView().accessibilityHidden(true)
          } else {
            Image(systemName: text.symbol).accessibilityHidden(true)
          }
        }
        .accessibilityElement(children: .combine)
        switch (text.action, openSettings) {
        case (.retry, _): Button(action: retry) { Text(Phrase("action.retry")) }
        case (.settings, let open?):
          Button(action: open) { Text(Phrase("action.settings")) }
        case (.settings, nil), (nil, _): EmptyView()
        }
      }
    }
  }

  /// The amounts of a bottle.
  private struct BottleAmountsView: View {
    let amounts: BottleAmounts

    var body: some View {
      VStack(alignment: .leading, spacing: 4) {
        LabeledContent {
          Text(Phrase("bottle.amount", amounts.today)).monospacedDigit()
        } label: {
          Text(Phrase("bottle.today"))
        }
        .font(.title3)
        if let level = amounts.level {
          LabeledContent {
            Text(Phrase("bottle.amount", level)).monospacedDigit()
          } label: {
            Text(Phrase("bottle.level"))
          }
        }
        if let battery = amounts.battery {
          LabeledContent {
            Text(Phrase("bottle.percent", battery)).monospacedDigit()
          } label: {
            Text(Phrase(amounts.isBatteryLow ? "bottle.batteryLow" : "bottle.battery"))
          }
        }
      }
    }
  }

  /// The newest drinks and refills.
  private struct LastDrinks: View {
    let drinks: [DrinkRow]

    var body: some View {
      Text(Phrase("bottle.last")).font(.subheadline).accessibilityAddTraits(.isHeader)
      if drinks.isEmpty {
        Text(Phrase("bottle.none")).font(.footnote).foregroundStyle(.secondary)
      }
      ForEach(drinks) { row in
        HStack(alignment: .firstTextBaseline) {
          Text(Phrase(row))
          Spacer(minLength: 8)
          Text(row.date, style: .date).foregroundStyle(.secondary)
          Text(row.date, style: .time).foregroundStyle(.secondary)
        }
        .font(.footnote)
        .accessibilityElement(children: .combine)
      }
    }
  }
#endif
