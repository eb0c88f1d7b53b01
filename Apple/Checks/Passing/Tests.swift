// passes on macos
import Testing

@Suite struct Sums {
  @Test(arguments: [1, 2]) func `a sum is larger`(_ part: Int) throws {
    let sum = try #require([part].first) + 1
    #expect(sum > part)
  }
}
