import HoldfastCore
import Testing

@Suite struct TakeAllTests {
  @Test func `each element is tested once, in order, and is either taken or kept`() {
    var numbers = Array(0..<20)
    var tested: [Int] = []
    // A second call for an element would have another result.
    let taken = numbers.takeAll { number in
      tested.append(number)
      return tested.count.isMultiple(of: 3)
    }
    #expect(tested == Array(0..<20))
    #expect(taken == [2, 5, 8, 11, 14, 17])
    #expect(numbers == (0..<20).filter { !taken.contains($0) })
  }

  @Test func `none and all elements can be taken`() {
    var numbers = [1, 2, 3]
    #expect(numbers.takeAll { _ in false } == [])
    #expect(numbers == [1, 2, 3])
    #expect(numbers.takeAll { _ in true } == [1, 2, 3])
    #expect(numbers == [])
    #expect(numbers.takeAll { _ in true } == [])
  }
}
