import Testing

@testable import Session

@Suite struct PayloadSizeTests {
  @Test func `three large failures shrink it to three quarters, and never below 50 KiB`() {
    var size = PayloadSize()
    size.noteLoss()
    size.noteLoss()
    #expect(size.kilobytes == 200)
    size.noteLoss()
    #expect(size.kilobytes == 150)
    for _ in 0..<30 { size.noteLoss() }
    #expect(size.kilobytes == 50)
  }

  @Test func `ten large successes in a row let it grow by a tenth, up to 250 KiB`() {
    var size = PayloadSize()
    for _ in 0..<9 { size.noteArrival(bytes: 102_400) }
    #expect(size.kilobytes == 200)
    size.noteArrival(bytes: 102_399)
    #expect(size.kilobytes == 200)
    size.noteArrival(bytes: 102_400)
    #expect(size.kilobytes == 220)
    for _ in 0..<50 { size.noteArrival(bytes: 300_000) }
    #expect(size.kilobytes == 250)
  }
}
