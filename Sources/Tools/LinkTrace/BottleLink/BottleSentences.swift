public import HoldfastBottleChecks
import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
public import HoldfastLinkChecks

extension BottleFeature {
  public static func sentence(of input: Input) -> String? {
    switch input {
    case .choose(let bottle):
      bottle == nil ? "The user forgets the bottle." : "The user chooses a bottle."
    case .perform(_, .command): "The user sends a command to the bottle."
    case .perform(_, .settings): "The user changes the bottle's settings."
    case .perform(_, .configuration): "The user changes the bottle's configuration."
    case .written(let write): "The bottle has confirmed write \(write.number)."
    case .unwritten(let write, let failure):
      "Write \(write.number) to the bottle failed: \(failure)."
    case .start, .stop, .refresh, .hold, .shown, .link, .central, .discovered, .undiscovered,
      .heard, .restored, .committed, .uncommitted:
      nil
    }
  }

  public static func sentence(of effect: Effect) -> String? {
    switch effect {
    case .discover(let attempt):
      "The app looks at the bottle's services on connection \(attempt.number)."
    case .write(_, _, .syncControl, _): nil
    case .write(let attempt, let write, _, let bytes):
      "The app writes \(bytes.count) bytes on connection \(attempt.number), "
        + "as write \(write.number)."
    case .commit(_, let change):
      "The app stores \(Sentence.count(change.records.count, "record"))."
    case .confirm(let number): "The app stores that drinks up to \(number) were shown."
    case .update(let update): sentence(of: update)
    case .scan, .stopScan, .connect, .cancel: nil
    }
  }

  private static func sentence(of update: BottleUpdate) -> String? {
    switch update {
    case .status: nil
    case .drink(let drink): "The app shows a drink of \(drink.record.amount) ml."
    case .bottle(let state):
      "The bottle reports \(Sentence.count(Int(state.unsynced), "record")) to fetch."
    case .calibration: "The bottle reports its calibration."
    case .refreshed(_, let result): "The refresh ends: \(words(result))."
    case .performed(_, let result): "The command ends: \(words(result))."
    case .notice(let notice): "The app reports: \(notice)."
    }
  }

  private static func words(_ result: BottleRefreshResult) -> String {
    switch result {
    case .synced(let count): "\(Sentence.count(count, "drink")) added"
    case .alreadySynced: "the bottle has no more records"
    case .bottleAsleep: "the bottle was not found"
    case .bluetoothOff: "Bluetooth is off"
    case .bluetoothUnavailable: "Bluetooth is not available"
    case .connectionFailed: "no connection was made"
    case .syncFailed: "the drinks were not received"
    case .nothingCame(let said):
      said == 1 ? "the reported record did not come" : "none of \(said) reported records came"
    }
  }

  private static func words(_ result: BottleRequestResult) -> String {
    switch result {
    case .done: "it is done"
    case .invalid(let text): text
    case .refused: "the bottle refused it"
    case .notSent(let result): words(result)
    case .unconfirmed: "the bottle did not confirm it"
    }
  }
}
