    {
        s = s * 0.5f + a[n - 1 - i];
        if (s > 0.8f) break;
    }
