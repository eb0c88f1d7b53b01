import HoldfastBottleData
import HoldfastBottleLink
import HoldfastCore
import HoldfastFirmware
import HoldfastVirtualBottle

/// The properties of a bottle's values, of a radio's frames, and of the messages between a phone
/// and a bottle.
enum BottleProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    var choices = Choices(bytes)
    switch choices.byte() % 4 {
    case 0: try values(Array(choices.rest))
    case 1: try frames(Array(choices.rest))
    case 2: try phone(&choices)
    case _: try bottle(&choices)
    }
  }

  /// Checks that a decoded value is encoded to the same bytes, except for bits that have no
  /// meaning.
  private static func values(_ bytes: [UInt8]) throws(Broken) {
    if let state = try? BottleState(bytes) { try hold(state.bytes == bytes, "a state") }
    if let value = try? BottleConfiguration(bytes) {
      try hold(value.bytes == bytes, "a configuration")
    }
    if let sync = try? BottleSync(bytes) { try hold(sync.bytes == bytes, "a sync control") }
    if let chunk = try? BottleChunk(bytes) {
      try hold((try? BottleChunk(chunk.bytes)) == chunk, "a chunk")
    }
    if let command = try? BottleCommand(bytes) {
      try hold((try? BottleCommand(command.bytes)) == command, "a command")
    }
    if let switches = try? BottleSwitches(bytes) {
      try hold((try? BottleSwitches(switches.bytes)) == switches, "settings")
    }
    if let calibration = try? BottleCalibration(bytes) {
      try hold((try? BottleCalibration(calibration.bytes)) == calibration, "a calibration")
    }
    if let activity = try? BottleActivity(bytes) {
      try hold((try? BottleActivity(activity.bytes)) == activity, "an activity")
    }
    try activities(bytes)
  }

  private static func activities(_ bytes: [UInt8]) throws(Broken) {
    if let chunk = try? BottleActivityChunk<BottleMotion>(bytes) {
      try hold((try? BottleActivityChunk<BottleMotion>(chunk.bytes)) == chunk, "motions")
    }
    if let chunk = try? BottleActivityChunk<BottleBackpack>(bytes) {
      try hold((try? BottleActivityChunk<BottleBackpack>(chunk.bytes)) == chunk, "backpacks")
    }
  }

  private static func frames(_ bytes: [UInt8]) throws(Broken) {
    let frames = try sameHoweverCut(bytes) { pieces -> [RadioFrame]? in
      var reader = RadioFrameReader()
      var frames: [RadioFrame] = []
      for piece in pieces {
        guard let new = try? reader.take(piece) else { return nil }
        frames += new
      }
      return frames
    }
    guard let frames else { return }
    var reader = RadioFrameReader()
    let again = try? reader.take(frames.flatMap(\.bytes))
    // A name is truncated to 64 bytes and invalid UTF-8 in it is replaced. Both changes occur only
    // once.
    try hold(again?.count == frames.count, "frames that were written are read")
  }

  /// Passes arbitrary inputs from a bottle to a connected phone.
  private static func phone(_ choices: inout Choices) throws(Broken) {
    var model = BottleModel(BottleSettings(), seed: 1)
    var now = Instant.zero
    let wall = Timestamp(nanoseconds: 1_768_766_400_000_000_000)
    var effects = model.handle(.start, at: now)
    effects += model.handle(.central(.adapter(.on)), at: now)
    effects += model.handle(
      .central(.found(PeripheralID(UUID128(high: 1, low: 1)), name: nil)), at: now)
    var commit: UInt64 = 0
    for _ in 0..<200 where !choices.isEmpty {
      now = now.advanced(by: .milliseconds(Int(choices.byte()) * 50))
      effects = model.deadline.map { $0 <= now } == true ? model.tick(at: now) : []
      let attempt = model.link.currentAttempt ?? AttemptID(UInt64(choices.byte()))
      commit += 1
      let inputs: [BottleModel.Input] = [
        .central(.connected(attempt)), .central(.disconnected(attempt, nil)),
        .central(.changed(attempt)), .undiscovered(attempt, .refused),
        .discovered(attempt, longestValue: Int(choices.byte()), BottleState(unsynced: 3), at: wall),
        .committed(commit, []), .uncommitted(commit, .closed), .written(WriteID(commit)),
        .unwritten(WriteID(commit), .reset), .refresh(commit),
        .perform(commit, .command(.delete(1))),
        .link(.device(.lifecycle(.background))), .link(.device(.lifecycle(.foreground))),
        .central(.adapter(.off)), .central(.adapter(.on)), .stop, .start,
      ]
      let attributes = BottleAttribute.allCases
      let choice = Int(choices.byte())
      let value = choices.take(Int(choices.byte() % 64))
      let news = BottleModel.News(value, of: attributes[choice % attributes.count])
      let receivedInput = news.map { BottleModel.Input.heard(attempt, $0, at: wall) }
      let input = choice < 128 ? receivedInput : nil
      effects += model.handle(input ?? inputs[choice % inputs.count], at: now)
      try hold(model.brokenInvariants(.thorough) == [], "a bottle's link keeps its invariants")
    }
  }

  /// Passes arbitrary writes from a phone to a bottle.
  private static func bottle(_ choices: inout Choices) throws(Broken) {
    var bottle = VirtualBottle(.plan035, capacity: 8, at: .zero)
    var now = Instant.zero
    _ = bottle.handle(.world(.moved), at: now)
    for _ in 0..<200 where !choices.isEmpty {
      now = now.advanced(by: .milliseconds(Int(choices.byte()) * 100))
      _ = bottle.tick(at: now)
      let attribute = BottleAttribute.allCases[Int(choices.byte()) % 9]
      let choice = choices.byte()
      let input: VirtualBottle.Input =
        switch choice % 8 {
        case 0: .connected(longestValue: Int(choices.byte()))
        case 1: .disconnected
        case 2: .restarted
        case 3: .world(.poured(Int16(Int8(bitPattern: choices.byte())) * 8))
        case 4: .world(.tapped)
        case _: .written(attribute, choices.take(Int(choices.byte() % 16)))
        }
      for output in bottle.handle(input, at: now) {
        if case .notifies(_, let bytes) = output {
          try hold(bytes.count <= max(bottle.longestValue, 20), "a notification fits")
        }
      }
      try hold(bottle.records.count <= 8, "a bottle keeps what fits")
      for attribute in BottleAttribute.allCases { _ = bottle.value(of: attribute) }
    }
  }
}
