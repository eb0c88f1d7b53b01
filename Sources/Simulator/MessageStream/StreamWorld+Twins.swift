// What of the stream is told a second time: see `Twin`.
extension StreamWorld {
  static var walks: [Walk] {
    []
  }
}
