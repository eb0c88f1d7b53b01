import LinkCore
import LinkServerCore
import LinkWire
import Testing

/// Phones that come, go and are replaced, assistants that ask and leave, a store that fails, a
/// backend that dies: every question gets one answer or one refusal, and none meets another asker.
struct RelayTortureTests {
  @Test(arguments: [UInt64](1...120))
  func `each question ends once, for the one who asked`(seed: UInt64) {
    var world = RelayWorld(seed: seed)
    for _ in 0..<700 { world.step() }
    world.settle()
    #expect(world.faults == [])
    #expect(world.open == 0)
    #expect(world.kept.questions == [])
  }

  @Test func `over many runs everything happens`() {
    var answered = 0
    var resumed = 0
    var adopted = 0
    var refused: Set<String> = []
    for seed in 1...60 {
      var world = RelayWorld(seed: UInt64(seed))
      for _ in 0..<700 { world.step() }
      answered += world.answered
      resumed += world.resumed
      adopted += world.adopted
      refused.formUnion(world.refused)
    }
    #expect(answered > 200)
    #expect(resumed > 100)
    #expect(adopted > 0)
    #expect(
      refused.isSuperset(of: [
        "invalid_credentials", "locked_out", "phone_away", "phone_replaced", "timed_out",
        "too_many_waiting", "store_failed", "not_signed_in",
      ]))
  }

  @Test func `an oracle that sees an answer go astray complains`() {
    var world = RelayWorld(seed: 1)
    for _ in 0..<700 { world.step() }
    world.judge(.answer(AskID(1), .data(RelayStage.object("0/1"))))
    #expect(world.faults.count == 1)
  }
}
