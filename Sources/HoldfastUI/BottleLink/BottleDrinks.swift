public import Foundation
public import Holdfast
public import Observation

/// A bottle and its drinks for the screens of an app.
///
///     BottleCard(bottle.state, drinks: bottle.drinks)
///       .refreshable { await bottle.refresh() }
///       .task { await bottle.follow() }
///
/// All screens share one model. It is fed while it lives, so a `.task` that restarts finds it
/// whole.
@MainActor @Observable public final class BottleDrinks {
  /// The drinks, oldest first.
  public private(set) var drinks: [DrinkRow] = []
  /// What the bottle said of itself last.
  public private(set) var state: BottleState?
  /// Where the link stands, and what will lead to its next step.
  public private(set) var status = BottleStatus()
  /// What went wrong last, and did not end anything.
  public private(set) var notice: BottleNotice?

  @ObservationIgnored private let bottle: HeldBottle
  @ObservationIgnored private let holdings: Holdings
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let refreshes = Answers<BottleRefreshResult>()
  @ObservationIgnored private let requests = Answers<BottleRequestResult>()
  /// The drinks that are shown at first.
  private static let page = 200

  init(_ bottle: HeldBottle, _ store: any DrinkStore, _ holdings: Holdings) async throws {
    (self.bottle, self.holdings) = (bottle, holdings)
    drinks = try await store.drinks(before: nil, limit: Self.page).map { DrinkRow($0) }
  }

  /// Keeps the model up to date until the task is cancelled or the bottle is closed.
  ///
  /// Cancelling it stops nothing: the model is fed on, and is whole when a screen follows it again.
  public func follow() async {
    await feed.follow(updates)
  }

  /// Takes updates until the bottle is closed; keeps the bottle, and not the model.
  private var updates: @MainActor () async -> Void {
    { [weak self, bottle] in
      for await update in bottle { self?.take(update) }
      self?.end()
    }
  }

  /// Connects and fetches drinks now, and returns when that has ended; `nil` if the bottle was
  /// closed first.
  @discardableResult public func refresh() async -> BottleRefreshResult? {
    feed.start(updates)
    let number = bottle.refresh()
    return await refreshes.answer(to: number)
  }

  /// Asks something of the bottle, and returns when it has ended; `nil` if the bottle was closed
  /// first.
  @discardableResult public func perform(_ request: BottleRequest) async -> BottleRequestResult? {
    feed.start(updates)
    let number = bottle.perform(request)
    return await requests.answer(to: number)
  }

  /// Tells whether the app is in front, where there is no lifecycle monitor.
  public func turn(_ lifecycle: Lifecycle) { bottle.turn(lifecycle) }

  /// Ends the connection and closes the store; the app's links make a new model then.
  public func close() async {
    await bottle.close()
    end()
    await holdings.close()
  }

  private func end() {
    refreshes.end()
    requests.end()
  }

  private func take(_ update: BottleUpdate) {
    switch update {
    case .status(let latest): status = latest
    case .drink(let drink):
      put(DrinkRow(drink))
      bottle.confirm(drink.number)
    case .bottle(let latest): state = latest
    case .refreshed(let number, let result): refreshes.give(result, to: number)
    case .performed(let number, let result): requests.give(result, to: number)
    case .notice(let latest): notice = latest
    case .calibration: return
    }
  }

  private func put(_ row: DrinkRow) {
    if let place = drinks.lastIndex(where: { $0.id == row.id }) {
      drinks[place] = row
    } else {
      drinks.append(row)
    }
  }
}

/// One drink as a row of a list.
public struct DrinkRow: Sendable, Hashable, Identifiable {
  /// What was recorded.
  public var drink: Drink
  /// Its number in the store.
  public var id: UInt64 { drink.number }
  /// How much was drunk, in millilitres.
  public var millilitres: Int { Int(drink.record.amount) }
  /// When it was drunk, or when it was stored if the bottle's clock was not set.
  public var date: Date { Date(drink.record.timestamp ?? drink.storedAt) }

  init(_ drink: Drink) { self.drink = drink }
}

extension HoldfastLinks {
  /// Returns the person's bottle, one model for all screens until it is closed.
  ///
  /// - Parameter radio: Finds and connects the bottle; this model uses it alone.
  /// - Throws: `LinkFailure` or `StoreFailure` if the drinks cannot be read.
  public func bottle(_ radio: any Central) async throws -> BottleDrinks {
    try await shared("bottle") { [self] holdings in
      let store = holdings.keep(try await Platform.drinkStore(in: folder("bottle")))
      var options = BottleOptions(radio: radio, store: store)
      (options.lifecycle, options.clock) = (parts.lifecycle, parts.clock)
      return try await BottleDrinks(HeldBottle(options), store, holdings)
    }
  }
}
