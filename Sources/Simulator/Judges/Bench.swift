import LinkCore
import MessageStream

/// All judges: each promise of the design has one that can find it broken.
public struct Bench: Judge {
  private var ledger = Ledger()
  private var durability = Durability()
  private var outstanding = Outstanding()
  private var windows = Windows()
  private var tries = Tries()
  private var requests = Requests()
  private var refreshes = Refreshes()
  private var connectedness = Connectedness()
  private var lateness = Lateness()
  private var secrecy = Secrecy()
  private var bounds = Bounds()
  private var healing = Healing()

  /// Nothing was seen yet.
  public init() {}

  /// What was broken so far, by time; at most 20.
  public var findings: [Finding] {
    let all: [any Watch] = [
      ledger, durability, outstanding, windows, tries, requests, refreshes, connectedness,
      lateness, secrecy, bounds, healing,
    ]
    return Array(
      all.flatMap(\.findings).enumerated()
        .sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
        .map(\.element).prefix(Findings.limit))
  }

  public mutating func see(_ happening: Happening, _ facts: Facts) {
    switch happening {
    case .told(let input, let isLate, let effects):
      ledger.told(input, isLate: isLate, facts)
      outstanding.told(input, isLate: isLate, facts)
      tries.told(input, isLate: isLate, facts)
      requests.told(input, isLate: isLate, facts)
      refreshes.told(input, isLate: isLate, facts)
      connectedness.told(input, isLate: isLate, facts)
      lateness.told(input, isLate: isLate, facts)
      healing.told(input, isLate: isLate, facts)
      for effect in effects { asked(effect, facts) }
    case .ticked(let effects):
      outstanding.ticked(facts)
      tries.ticked(facts)
      refreshes.ticked(facts)
      connectedness.ticked(facts)
      lateness.ticked(facts)
      for effect in effects { asked(effect, facts) }
    case .launched, .killed, .suspended, .resumed, .stored, .accepted, .beganAnew, .upgraded,
      .serverLost, .wentDead, .began, .ended, .calm:
      met(happening, facts)
    }
    outstanding.settled(facts)
    requests.settled(facts)
    connectedness.settled(facts)
    lateness.settled(facts)
    bounds.settled(facts)
    healing.settled(facts)
  }

  private mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    ledger.asked(effect, facts)
    durability.asked(effect, facts)
    outstanding.asked(effect, facts)
    windows.asked(effect, facts)
    tries.asked(effect, facts)
    requests.asked(effect, facts)
    refreshes.asked(effect, facts)
    lateness.asked(effect, facts)
    secrecy.asked(effect, facts)
  }

  private mutating func met(_ happening: Happening, _ facts: Facts) {
    ledger.met(happening, facts)
    durability.met(happening, facts)
    outstanding.met(happening, facts)
    windows.met(happening, facts)
    tries.met(happening, facts)
    requests.met(happening, facts)
    refreshes.met(happening, facts)
    connectedness.met(happening, facts)
    lateness.met(happening, facts)
    bounds.met(happening, facts)
    healing.met(happening, facts)
  }

  public mutating func conclude(_ facts: Facts) {
    ledger.conclude(facts)
    durability.conclude(facts)
    outstanding.conclude(facts)
    healing.conclude(facts)
  }
}
