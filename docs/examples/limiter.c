/* An inter-packet delay in C, for fabemu bench limiter --exec: cc -o limiter limiter.c */
#include <stdio.h>
#include <string.h>

int main(void) {
	char line[512], word[16];
	long long a, b, rate = 0, last = 0, size = 0;

	while (fgets(line, sizeof line, stdin) && sscanf(line, "%15s %lld %lld", word, &a, &b) == 3) {
		if (!strcmp(word, "hello")) { /* version, rate in b/s, packet in bytes */
			rate = b;
			printf("limiter - inter-packet delay in C\n");
		} else if (!strcmp(word, "next")) { /* the instant in ps, bytes */
			__int128 delay = rate ? ((__int128)size * 8000000000000 + rate - 1) / rate : 0;
			if (size && (!rate || delay > 1LL << 62))
				printf("never\n");
			else
				printf("%lld\n", last + (long long)delay > a ? last + (long long)delay : a);
		} else {
			if (!strcmp(word, "sent"))
				last = a, size = b;
			else if (!strcmp(word, "rate"))
				rate = b;
			printf("ok\n");
		}
		fflush(stdout);
	}
	return 0;
}
