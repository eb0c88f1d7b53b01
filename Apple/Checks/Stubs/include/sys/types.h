typedef long long off_t;
