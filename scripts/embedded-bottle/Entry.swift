// The functions that a board's program calls; the program owns the memory, the radio and the clock.
// scripts/embedded compiles this file with Sources/Bottle/Firmware. The package never does.
/// The flash memory that stores the records.
struct Flash: RecordStorage {
  let memory: UnsafeMutablePointer<DrinkRecord>
  var capacity: Int { RecordRing<Flash>.usualCapacity }
  subscript(place: Int) -> DrinkRecord {
    get { memory[place] }
    nonmutating set { memory[place] = newValue }
  }
}

typealias BoardBottle = Bottle<Flash>

@_cdecl("bottle_size") public func bottleSize() -> Int32 { Int32(MemoryLayout<BoardBottle>.size) }

@_cdecl("bottle_start") public func bottleStart(
  _ bottle: UnsafeMutableRawPointer, _ memory: UnsafeMutableRawPointer, _ plan: UInt16,
  _ now: UInt32
) {
  let profile: TimerProfile = plan == 28 ? .plan028 : plan == 34 ? .plan034 : .plan035
  let flash = Flash(memory: memory.assumingMemoryBound(to: DrinkRecord.self))
  bottle.bindMemory(to: BoardBottle.self, capacity: 1)
    .initialize(to: Bottle(profile, ring: RecordRing(flash), at: now))
}

@_cdecl("bottle_input") public func bottleInput(
  _ bottle: UnsafeMutableRawPointer, _ kind: UInt8, _ value: Int32, _ now: UInt32
) -> UInt16 {
  let input: BottleInput =
    switch kind {
    case 0: .moved
    case 1: .tapped
    case 2: .stands(value != 0)
    case 3: .poured(Int16(truncatingIfNeeded: value))
    case 4: .connected
    case 5: .disconnected
    case 6:
      .sync(
        count: UInt16(truncatingIfNeeded: value),
        chunkSize: UInt16(truncatingIfNeeded: value >> 16))
    case 7: .acknowledged
    case 8: .command(.setTime(UInt32(bitPattern: value)))
    case 9: .command(.delete(UInt32(bitPattern: value)))
    case 10: .battery(UInt8(truncatingIfNeeded: value))
    case 11: .shaken
    case 12: .command(.tare)
    case 13: .settings(shakeToEmpty: value != 0)
    default: .command(.ping)
    }
  return bottle.assumingMemoryBound(to: BoardBottle.self).pointee.handle(input, at: now).bits
}

@_cdecl("bottle_tick") public func bottleTick(
  _ bottle: UnsafeMutableRawPointer, _ now: UInt32
) -> UInt16 {
  bottle.assumingMemoryBound(to: BoardBottle.self).pointee.tick(at: now).bits
}

@_cdecl("bottle_deadline") public func bottleDeadline(_ bottle: UnsafeMutableRawPointer) -> UInt32 {
  bottle.assumingMemoryBound(to: BoardBottle.self).pointee.deadline ?? 0
}

@_cdecl("bottle_record") public func bottleRecord(
  _ bottle: UnsafeMutableRawPointer, _ number: Int32
) -> UInt32 {
  let bottle = bottle.assumingMemoryBound(to: BoardBottle.self)
  return bottle.pointee.sync.record(Int(number), in: bottle.pointee.ring).id
}
