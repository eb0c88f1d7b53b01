public import Foundation
public import Holdfast
public import HoldfastBottleLink
public import HoldfastFeaturePorts
public import HoldfastStorage
public import HoldfastWire
public import Observation

/// A bottle and its drinks, for the screens of an app.
///
///     BottleCard(bottle.state, drinks: bottle.drinks)
///       .refreshable { await bottle.refresh() }
///       .task { await bottle.follow() }
///
/// All screens share one model. The model receives updates as long as it exists, so it is complete
/// when a `.task` restarts.
@MainActor @Observable public final class BottleDrinks {
  /// The drinks, oldest first.
  public private(set) var drinks: [DrinkRow] = []
  /// The most recent state that the bottle reported.
  public private(set) var state: BottleState?
  /// The status of the link, with the cause of its next step.
  public private(set) var status = BottleStatus()
  /// The most recent problem that did not end the link.
  public private(set) var notice: BottleNotice?

  @ObservationIgnored private let bottle: HeldBottle
  @ObservationIgnored private let resources: SharedResources
  @ObservationIgnored private let feed = Feed()
  @ObservationIgnored private let refreshes = Answers<BottleRefreshResult>()
  @ObservationIgnored private let requests = Answers<BottleRequestResult>()
  /// The number of drinks that are loaded at first.
  private static let page = 200

  init(_ bottle: HeldBottle, _ store: any DrinkStore, _ resources: SharedResources) async throws {
    (self.bottle, self.resources) = (bottle, resources)
    resources.onForeground = { [weak self] in self?.reconnectIfExhausted() }
    drinks = try await store.drinks(before: nil, limit: Self.page).map { DrinkRow($0) }
  }

  /// Starts updating the model. Returns when the task is cancelled or the bottle is closed.
  ///
  /// Cancelling the task does not stop the updates, so the model is complete when a screen follows
  /// it again.
  public func follow() async {
    await feed.follow(updates)
  }

  /// A closure that processes updates until the bottle is closed.
  ///
  /// The closure retains the bottle, but not the model.
  private var updates: @MainActor () async -> Void {
    { [weak self, bottle] in
      for await update in bottle.lastingUpdates { self?.take(update) }
      self?.end()
    }
  }

  /// Connects immediately and fetches drinks. Returns the result, or `nil` if the bottle was closed
  /// first.
  @discardableResult public func refresh() async -> BottleRefreshResult? {
    feed.start(updates)
    let number = bottle.refresh()
    return await refreshes.answer(to: number)
  }

  /// Performs a request on the bottle. Returns the result, or `nil` if the bottle was closed first.
  @discardableResult public func perform(_ request: BottleRequest) async -> BottleRequestResult? {
    feed.start(updates)
    let number = bottle.perform(request)
    return await requests.answer(to: number)
  }

  /// Reports whether the app is in the foreground. It is for platforms without a lifecycle monitor.
  ///
  /// In the foreground, a link that gave up after its last attempt connects again.
  public func setLifecycle(_ lifecycle: AppLifecycle) {
    bottle.setLifecycle(lifecycle)
    if lifecycle == .foreground { reconnectIfExhausted() }
  }

  /// Connects again after a failure.
  public func reconnect() { bottle.reconnect() }

  private func reconnectIfExhausted() {
    if status.isFinal, case .exhausted = status.reason { reconnect() }
  }

  /// Ends the connection and closes the store.
  ///
  /// On the next request, `HoldfastLinks` creates a new model.
  public func close() async {
    await bottle.close()
    end()
    await resources.close()
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
      bottle.markShown(through: drink.number)
    case .bottle(let latest): state = latest
    case .refreshed(let number, let result): refreshes.give(result, to: number)
    case .performed(let number, let result): requests.give(result, to: number)
    case .notice(let latest): notice = latest
    case .calibration: return
    }
  }

  private func put(_ row: DrinkRow) {
    if let index = drinks.lastIndex(where: { $0.id == row.id }) {
      drinks[index] = row
    } else {
      drinks.append(row)
    }
  }
}

/// One drink, as a row of a list.
public struct DrinkRow: Sendable, Hashable, Identifiable {
  /// The stored drink.
  public var drink: BottleDrink
  /// The number of the drink in the store.
  public var id: UInt64 { drink.number }
  /// The amount, in milliliters.
  public var millilitres: Int { Int(drink.record.amount) }
  /// The time of the drink, or the time at which it was stored if the bottle's clock was not set.
  public var date: Date { drink.date }

  init(_ drink: BottleDrink) { self.drink = drink }
}

extension HoldfastLinks {
  /// Returns the model of the person's bottle. All screens share the model until it is closed.
  ///
  /// - Parameter radio: The radio that finds the bottle and connects to it. Only this model may use
  ///   it.
  /// - Throws: `OpenError`, or `StoreFailure` if the drinks cannot be opened or read.
  public func bottle(_ radio: any Central) async throws -> BottleDrinks {
    try await shared("bottle") { [self] resources in
      let store = resources.keep(try await HoldfastPlatform.drinkStore(in: folder("bottle")))
      var configuration = BottleLinkConfiguration(radio: radio, storage: .store(store))
      configuration.ports = ports
      return try await BottleDrinks(HeldBottle(configuration), store, resources)
    }
  }
}
