import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
public import HoldfastLinkChecks

extension BottleFeature {
  public static func describe(_ input: Input) -> TracePart {
    switch input {
    case .refresh: (.user, "refreshes")
    case .perform(_, let request): (.user, "sends a command: \(request)")
    case .hold(let isHeld): (.app, isHeld ? "holds the connection" : "releases the connection")
    case .shown(let number): (.app, "has shown drinks up to \(number)")
    case .central(let event): describe(event)
    case .discovered(let attempt, let longest, let state, _):
      TraceText.connection(
        attempt, "is discovered: \(state.unsynced) unsynced, values of up to \(longest) bytes")
    case .heard(let attempt, let news, _): TraceText.connection(attempt, "brings \(describe(news))")
    case .restored(let snapshot):
      (.disk, "gives back \(TraceText.count(snapshot.unshown.count, "drink"))")
    case .committed(_, let drinks): (.disk, "has stored the drinks, \(drinks.count) of them new")
    case .uncommitted(_, let failure): (.disk, "stores nothing: \(failure)")
    case .start, .stop, .choose, .link, .undiscovered, .written, .unwritten:
      TraceText.cause(input, of: Model.self)
    }
  }

  private static func describe(_ event: CentralEvent) -> TracePart {
    switch event {
    case .adapter(let state): (.phone, "reports that Bluetooth is \(state.rawValue)")
    case .restored(let all):
      (.phone, "gives back a bottle\(all.first?.isConnected == true ? " that is connected" : "")")
    case .found(let id, _):
      (.phone, id == peripheral ? "finds the bottle" : "finds another bottle")
    case .connected(let attempt): TraceText.connection(attempt, "is open")
    case .failed(let attempt, let failure):
      TraceText.connection(attempt, "fails with \(TraceText.failure(failure))")
    case .disconnected(let attempt, let failure):
      TraceText.connection(
        attempt, "ends" + (failure.map { " with \(TraceText.failure($0))" } ?? ""))
    case .changed(let attempt): TraceText.connection(attempt, "has changed services")
    case .value(let attempt, _, _): TraceText.connection(attempt, "brings a value")
    }
  }

  private static func describe(_ news: BottleModel.News) -> String {
    switch news {
    case .state(let state): "the bottle's state: \(state.unsynced) unsynced"
    case .chunk(let chunk):
      "chunk \(chunk.index + 1) of \(chunk.total): "
        + TraceText.count(chunk.records.count, "record")
    case .calibration: "the calibration"
    case .battery(let percent): "a battery level of \(percent) %"
    case .brokenChunk: "a truncated chunk"
    case .malformed: "a value that cannot be read"
    }
  }

  public static func isWorth(_ input: Input, _ consequences: [TracePart]) -> Bool {
    switch input {
    case .shown, .written: false
    case .central(.found), .committed: !consequences.isEmpty
    case .start, .stop, .refresh, .hold, .perform, .choose, .link, .central, .discovered,
      .undiscovered, .heard, .unwritten, .restored, .uncommitted:
      true
    }
  }

  public static func describe(_ effect: Effect, isVerbose: Bool) -> TracePart? {
    switch effect {
    case .scan: (.app, "scans")
    case .stopScan: (.app, "stops scanning")
    case .connect(let attempt, _, true, let rest):
      (.app, "queues connection \(attempt.number) in \(rest.text)")
    case .connect(let attempt, _, false, _): (.app, "connects, as connection \(attempt.number)")
    case .cancel(let attempt, let reason):
      (.app, "cancels connection \(attempt.number): \(reason)")
    case .write(_, _, .syncControl, let bytes):
      (.app, bytes == BottleSync.acknowledgement.bytes ? "acknowledges" : "requests records")
    case .update(.drink(let drink)): (.screen, "shows drink \(drink.number)")
    case .update(.refreshed(_, let result)): (.screen, "the refresh: \(result)")
    case .update(.performed(_, let result)): (.screen, "the command: \(result)")
    case .discover, .write, .commit, .confirm, .update:
      TraceText.effect(effect, of: Model.self, isVerbose: isVerbose)
    }
  }

  public static func statusLabel(_ effect: Effect) -> String? {
    guard case .update(.status(let status)) = effect else { return nil }
    let all = status.outstanding.map(\.rawValue).joined(separator: ", ")
    return "\(status.phase.rawValue); outstanding: \(all.isEmpty ? "nothing" : all)"
  }

  public static func describe(_ fact: Fact) -> [TracePart] {
    switch fact {
    case .recorded(let id): [(.server, "the bottle records drink \(id)")]
    case .removed(let id): [(.server, "the bottle no longer has record \(id)")]
    case .stored(let id): [(.disk, "stores record \(id)")]
    case .advertises(let isOn):
      [(.server, "the bottle \(isOn ? "advertises" : "stops advertising")")]
    case .linked(let isOn): [(.network, isOn ? "phone and bottle meet" : "phone and bottle part")]
    case .erased: [(.server, "the bottle's memory is erased")]
    case .altered(let id): [(.disk, "holds record \(id), which no bottle recorded")]
    case .stamped: []
    }
  }
}
