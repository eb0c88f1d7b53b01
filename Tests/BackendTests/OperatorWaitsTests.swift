import HoldfastCore
import Testing

@testable import HoldfastBackend

/// Tests of the requests that wait for checks and figures.
struct OperatorWaitsTests {
  private var waits = OperatorWaits<Int>()
  private let due = Instant.zero.advanced(by: .milliseconds(500))

  @Test mutating func `requests are answered once checks and figures have ended`() {
    #expect(waits.add(1, at: .zero) == true)
    #expect(waits.add(2, at: .zero) == false)
    #expect(waits.due(at: .zero, isChecking: true) == [])
    #expect(waits.due(at: .zero, isChecking: false) == [])
    waits.read()
    #expect(waits.due(at: .zero, isChecking: true) == [])
    #expect(waits.due(at: .zero, isChecking: false) == [1, 2])
    #expect(waits.deadline == nil)
    #expect(waits.due(at: .zero, isChecking: false) == [])
  }

  @Test(arguments: [(-1, false), (0, true), (1, true)])
  mutating func `requests are answered after half a second whatever hangs`(
    past: Int64, isOver: Bool
  ) {
    _ = waits.add(1, at: .zero)
    #expect(waits.deadline == due)
    let now = due.advanced(by: .nanoseconds(past))
    #expect(waits.due(at: now, isChecking: true) == (isOver ? [1] : []))
    #expect((waits.deadline == nil) == isOver)
  }

  @Test mutating func `figures that are still being read are not read twice`() {
    _ = waits.add(1, at: .zero)
    _ = waits.due(at: due, isChecking: true)
    #expect(waits.add(2, at: due) == false)
    #expect(waits.deadline == due.advanced(by: .milliseconds(500)))
    waits.read()
    #expect(waits.due(at: due, isChecking: false) == [2])
    #expect(waits.add(3, at: due) == true)
  }

  @Test mutating func `a request whose client has left is not answered`() {
    _ = waits.add(1, at: .zero)
    _ = waits.add(2, at: .zero)
    waits.remove { $0 == 1 }
    #expect(waits.deadline == due)
    #expect(waits.due(at: due, isChecking: true) == [2])
    _ = waits.add(3, at: due)
    waits.remove { $0 == 3 }
    #expect(waits.deadline == nil)
  }
}
