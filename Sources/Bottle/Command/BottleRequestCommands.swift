import Foundation
import Holdfast
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCommandKit
import HoldfastCommandParts
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastJSON
import HoldfastPorts

/// The commands that send one request to a bottle, after searching for it for up to 10 s.
enum BottleRequestCommands {
  static let all = [
    refresh,
    plain("tare", "take the present weight for that of the empty bottle", .tare),
    plain("ping", "connect to the bottle and keep it awake", .ping),
    plain("reset-day", "begin the day's total anew", .resetDaily),
    plain("clear", "make the bottle forget all records, sent or not", .clearHistory),
    setTime, delete, calibrate, settings, configure,
  ]

  private static let details = """
    Looks for the bottle for 10 s and ends after 15 s, or 5 s after what it sent is to be \
    confirmed. A bottle has one connection: end a running `bottle watch` first. Ends with 6 if the \
    bottle is not found. With --json the result is one object: event "result", result.
    """

  private static let id = Parameter.operand(
    Format<UInt32>.record, "the record, as `bottle drinks --json` shows its id")
  private static let step = Parameter.operand(
    .choice("STEP", of: ["start", "cancel", "empty", "full"]),
    "start or cancel a calibration, or measure the empty or the full bottle")
  private static let shake = Parameter.operand(
    .choice("SHAKE", of: ["shake-to-empty", "no-shake"]),
    "whether shaking the bottle means that it was emptied")
  private static let scale = Parameter.operand(
    Format<Float>.scale, "raw units of the scale for each gram, 100 to 800")
  private static let goal = Parameter.operand(
    .integer("GOAL", 1000...4000), "the daily goal, 1000 to 4000 milliliters")
  private static let capacity = Parameter.option(
    "capacity", .integer("ML", 1...10_000), default: 830, "the capacity of the bottle")
  private static let tareWeight = Parameter.option(
    "empty-weight", .integer("GRAMS", 0...10_000), default: 0, "the weight of the empty bottle")

  /// Returns a command that sends one request. If `request` returns `nil`, the command refreshes
  /// instead.
  ///
  /// - Parameters:
  ///   - more: The paragraphs of the help text that follow `details`.
  ///   - example: The command line after `bottle`, and its effect.
  ///   - parameters: The parameters in addition to those that all of these commands share.
  private static func asking<each Value: Sendable>(
    _ name: String, _ summary: String, _ more: String...,
    example: (arguments: String, effect: String),
    takes parameters: repeat Parameter<each Value>,
    request: @escaping @Sendable (Invocation) -> BottleRequest?
  ) -> Command {
    Command(
      name, summary, details: [details] + more,
      examples: [.init("holdfast bottle \(example.arguments) --radio bottle.sock", example.effect)],
      takes: BottleRadio.path, BottleRadio.adapter, repeat each parameters, Shared.data,
      Shared.settings, Shared.json
    ) { call throws(CommandFailure) in
      try await run(call, request(call))
    }
  }

  private static func plain(
    _ name: String, _ summary: String, _ command: BottleCommand
  ) -> Command {
    asking(name, summary, example: (name, "once")) { _ in .command(command) }
  }

  private static let refresh = asking(
    "refresh", "connect now, store what is new, and end",
    """
    The results are synced with the number of new drinks, already-synced (the bottle says that \
    nothing waits), bottle-asleep, bluetooth-off, bluetooth-unavailable, connection-failed, \
    sync-failed, and nothing-came with the number of records that the bottle says it has, of \
    which none came; it ends with 1 then.
    """,
    example: ("refresh", "once, from a timer")
  ) { _ in nil }

  private static let setTime = asking(
    "set-time", "set the bottle's clock to that of this machine",
    "Every connection does so; drinks that were recorded before keep theirs.",
    example: ("set-time", "once")
  ) { _ in
    .command(.setTime(UInt32(clamping: BootClock().wall.nanoseconds / 1_000_000_000)))
  }

  private static let delete = asking(
    "delete", "delete a record on the bottle, and mark it as deleted here",
    example: ("delete 41", "the record 41"), takes: id
  ) { .command(.delete($0[id])) }

  private static let calibrate = asking(
    "calibrate", "calibrate the bottle's scale step by step",
    "After start, measure the empty bottle, then the full one; then `configure`.",
    example: ("calibrate start", "begin"), takes: step
  ) { call in
    switch call[step] {
    case "start": .command(.startCalibration)
    case "cancel": .command(.cancelCalibration)
    case let point: .command(.measure(full: point == "full"))
    }
  }

  private static let settings = asking(
    "settings", "change the bottle's settings",
    example: ("settings no-shake", "shaking means nothing"), takes: shake
  ) { .settings(BottleSwitches(shakeToEmpty: $0[shake] == "shake-to-empty")) }

  private static let configure = asking(
    "configure", "set the scale's factor and the daily goal",
    example: ("configure 412.5 2500", "2.5 litres each day"),
    takes: capacity, tareWeight, scale, goal
  ) {
    .configuration(
      BottleConfiguration(
        scale: $0[scale], tare: Int32($0[tareWeight]), capacity: UInt16($0[capacity]),
        dailyGoal: UInt16($0[goal])))
  }

  /// Sends the request, or refreshes if it is `nil`. Prints the result.
  private static func run(
    _ call: Invocation, _ request: BottleRequest?
  ) async throws(CommandFailure) {
    let policy = try LinkPolicy.bottleLink.with(call[Shared.settings])
    let radio = try BottleRadio(call)
    let store = try await call.withData { (directory) throws(StoreFailure) in
      try await HoldfastPlatform.drinkStore(in: directory)
    }
    let result = try await store.closing { () throws(CommandFailure) in
      let result = try await CommandFailure.opening { () throws(OpenError) in
        try await ask(radio.central, policy, store, request)
      }
      if case .command(.delete(let id))? = request, result == .done {
        await noteUnknown(id, store, call)
      }
      return result
    }
    guard let result else { throw .stopped("the bottle had answered") }
    let name = BottleText.name(result)
    if call[Shared.json] {
      JSONEvents(call.console).write("result") { $0.entry("result", name) }
    } else {
      call.console.line(name)
    }
    if let failure = BottleText.failure(result) { throw failure }
  }

  /// Warns if the ID is unknown, because a bottle confirms the deletion of any ID.
  private static func noteUnknown(
    _ id: UInt32, _ store: any DrinkStore, _ call: Invocation
  ) async {
    let drinks = try? await store.drinks(before: nil, limit: .max)
    guard let drinks, !drinks.contains(where: { $0.record.id == id }) else { return }
    call.diagnostic(
      "no stored drink has the id \(id); a bottle confirms a deletion whether it has the record "
        + "or not")
  }

  private static func ask(
    _ radio: any Central, _ policy: LinkPolicy, _ store: any DrinkStore, _ request: BottleRequest?
  ) async throws(OpenError) -> BottleRequestResult? {
    var configuration = BottleLinkConfiguration(radio: radio, storage: .store(store))
    configuration.settings = BottleSettings(policy: policy)
    let bottle = try await HeldBottle(configuration)
    let number = request.map { bottle.perform($0) } ?? bottle.refresh()
    return await CommandSignals.cancelling {
      await withTaskCancellationHandler {
        for await update in bottle.lastingUpdates {
          switch update {
          case .performed(number, let result):
            await bottle.close()
            return result
          case .refreshed(number, let result):
            await bottle.close()
            return .notSent(result)
          case .performed, .refreshed, .status, .drink, .bottle, .calibration, .notice: continue
          }
        }
        return nil
      } onCancel: {
        Task { await bottle.close() }
      }
    }
  }
}

extension Format<UInt32> {
  fileprivate static let record = Format(
    placeholder: "ID", expectation: "a record's id from 0 to 4294967295"
  ) {
    UInt32($0)
  }
}

extension Format<Float> {
  fileprivate static let scale = Format(
    placeholder: "SCALE", expectation: "a factor from 100 to 800"
  ) {
    Float($0).flatMap { BottleConfiguration.scales.contains($0) ? $0 : nil }
  }
}
