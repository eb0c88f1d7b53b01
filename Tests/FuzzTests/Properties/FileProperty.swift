import Foundation
import HoldfastMessageStream
import HoldfastTestKit

@testable import HoldfastBackend
@testable import HoldfastCore
@testable import HoldfastDriver

/// The properties of journals that are read and replayed.
enum JournalProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let choice = choices.byte()
    let isWhole = choice & 1 == 1
    if choice & 2 == 0 {
      try replays(choices.rest, isWhole: isWhole, as: HeldLink.self)
    } else {
      try replays(choices.rest, isWhole: isWhole, as: StreamModel.self)
    }
  }

  private static func replays<M: Journaled>(
    _ bytes: ArraySlice<UInt8>, isWhole: Bool, as _: M.Type
  ) throws(Broken) {
    let text =
      #"{"extra":{"shop":"s1"},"journal":1,"machine":"\#(M.journalName)","part":1,"#
      + #""policy":{"preset":"message-stream"},"seed":1,"startedAt":0}"# + "\n"
    let whole = isWhole ? Array(bytes) : Array(text.utf8) + bytes
    guard let scratch = try? Scratch(), (try? scratch.write(whole, to: "j")) != nil else {
      return
    }
    guard let first = try? Replay<M>.run(journal: scratch("j")) else { return }
    let again = try? Replay<M>.run(journal: scratch("j"))
    try hold(again?.divergences == first.divergences, "the same journal is the same run")
    try hold(first.diverged <= first.steps, "at most all steps diverge")
    try writesBack(scratch("j"), as: M.self)
  }

  private static func writesBack<M: Journaled>(_ path: String, as _: M.Type) throws(Broken) {
    guard var reader = try? JournalReader<M>(path: path) else { return }
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    while let step = try? reader.next() {
      for line in step.lines {
        let data = try? encoder.encode(line)
        let again = data.flatMap { try? decoder.decode(JournalLine<M>.self, from: $0) }
        try hold(
          again?.at == line.at && again?.input == line.input && again?.tick == line.tick
            && again?.out == line.out, "a step that was read can be written")
      }
    }
  }
}

/// The properties of policies in the format of files, and of the links that they configure.
enum PolicyProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    let choice = choices.byte()
    if choice & 1 == 0 {
      let data = Data(choices.rest)
      if let policy = try? JSONDecoder().decode(LinkPolicy.self, from: data) { try works(policy) }
    } else {
      let presets = LinkPolicy.presets
      let preset = presets[Int(choice >> 1) % presets.count]
      let lines = String(decoding: choices.rest, as: UTF8.self).split(separator: "\n")
      let changes = lines.map { line in
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return (key: String(parts[0]), value: parts.count == 2 ? String(parts[1]) : "")
      }
      if let policy = try? preset.setting(changes) { try works(policy) }
    }
  }

  private static func works(_ policy: LinkPolicy) throws(Broken) {
    let written = try? JSONEncoder().encode(policy)
    let again = written.flatMap { try? JSONDecoder().decode(LinkPolicy.self, from: $0) }
    try hold(again == policy, "a policy that was read can be written")
    for schedule in [policy.retry.first, policy.retry.reconnect] {
      var generator = RandomSource(seed: 1)
      for index in [0, 1, 2, 3, 19, 100] {
        guard let bounds = schedule.bounds(before: index),
          let wait = schedule.wait(before: index, generator: &generator)
        else { continue }
        try hold(bounds.contains(wait), "a wait is within its bounds")
      }
    }
    try checkPromises(policy)
  }

  /// Runs a link with this policy through a long series of failures, and checks invariants and
  /// deadlines.
  private static func checkPromises(_ policy: LinkPolicy) throws(Broken) {
    var link = HeldLink(policy: policy, seed: 1)
    var now = Instant.zero
    let start: [HeldLink.Input] = [
      .credentials(.available(expiresIn: .seconds(3_600))), .lifecycle(.foreground),
      .reachability(.reachable(path: PathID("a"))), .setIntent(.live),
    ]
    var effects = start.flatMap { link.handle($0, at: now) }
    for turn in 0..<30 {
      let inputs = effects.compactMap { answer(to: $0, turn) }
      effects = inputs.flatMap { link.handle($0, at: now) }
      try hold(link.brokenInvariants(.thorough) == [], "a link keeps its invariants")
      guard inputs.isEmpty else { continue }
      guard let due = link.deadline else { return }
      try hold(due >= now, "no deadline is in the past")
      now = due
      effects = link.tick(at: now)
    }
  }

  private static func answer(to effect: HeldLink.Effect, _ turn: Int) -> HeldLink.Input? {
    switch effect {
    case .prepare(let attempt): .prepared(attempt)
    case .open(let attempt): turn % 3 == 0 ? .opened(attempt) : .lost(attempt, .refused)
    case .ping(let attempt, let number): .pong(attempt, number)
    case .refreshCredentials: .credentials(.available(expiresIn: .seconds(60)))
    case .poll(let number): .polled(number, nil)
    case .close, .arm, .disarm, .status: nil
    }
  }
}

/// The properties of the list of removed members.
enum RemovalsProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    guard let removed = try? RemovalsFile.decode(bytes) else { return }
    let again = try? RemovalsFile.decode(RemovalsFile.encode(removed))
    try hold(again == removed, "a list that was read can be written")
  }
}
