/// The words of pairs.
enum RelayWords {
  static let all: [String] = ["anchor"]
}
